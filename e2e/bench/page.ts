/** Pages for the bench: a module bundled, served with COOP and COEP on 127.0.0.1, and opened with the probe in it. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type CDPSession, chromium, type Page } from '@playwright/test';
import { build, type Plugin } from 'vite';
import { chromiumArguments, chromiumPath } from '../chromium.ts';
import { type ProbeCounts, probeScript } from './probe.ts';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/** Packages that an entry imports are taken from the `node_modules` of this folder. */
function packagesFrom(folder: string, entry: string): Plugin {
  return {
    name: 'bench-packages',
    enforce: 'pre',
    resolveId(source, importer) {
      if (importer !== entry || /^[./]/.test(source)) return null;
      return this.resolve(source, join(folder, 'package.json'), { skipSelf: true });
    },
  };
}

/** Bundles of modules, the pages that load them, and one browser. `close` takes all of it away. */
export class Bench {
  private constructor(
    private readonly folder: string,
    private readonly server: Server,
    private readonly browser: Browser,
  ) {}

  /** Runs `use` and closes everything behind it, whatever happens. */
  static async run<T>(use: (bench: Bench) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(tmpdir(), 'polypath-bench-'));
    const server = serve(folder);
    let browser: Browser | null = null;
    try {
      await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject));
      browser = await chromium.launch({ executablePath: chromiumPath(), args: chromiumArguments });
      return await use(new Bench(folder, server, browser));
    } finally {
      await browser?.close();
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true, force: true });
    }
  }

  /**
   * Bundles a module so that `open(name)` finds it.
   * @param entry its path, relative to the folder e2e/bench
   * @param packages the folder in whose `node_modules` its packages are, if that is not the repository
   */
  async bundle(name: string, entry: string, packages?: string): Promise<void> {
    const path = join(repository, 'e2e/bench', entry);
    await build({
      root: repository,
      configFile: false,
      publicDir: false,
      base: './',
      logLevel: 'error',
      plugins: packages ? [packagesFrom(packages, path)] : [],
      build: {
        outDir: this.folder,
        emptyOutDir: false,
        target: 'esnext',
        minify: false,
        modulePreload: false,
        rolldownOptions: {
          input: { [name]: path },
          output: { entryFileNames: '[name].js', chunkFileNames: `${name}/[name]-[hash].js` },
        },
      },
    });
  }

  /** Opens the page of a bundled module and waits until the module has set `globalThis.bench`. */
  async open(name: string): Promise<BenchPage> {
    const context = await this.browser.newContext(); // a process of its own
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.addInitScript(probeScript);
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The bench server has no address.');
    const opened = new BenchPage(page, session);
    await page.goto(`http://127.0.0.1:${address.port}/${name}.html`);
    try {
      await page.waitForFunction('globalThis.bench', null, { timeout: 60_000 });
    } catch (error) {
      throw new Error(opened.lastError ?? String(error));
    }
    return opened;
  }
}

export class BenchPage {
  /** The last error that the page reported outside of a call. */
  lastError: string | null = null;

  constructor(
    private readonly page: Page,
    private readonly session: CDPSession,
  ) {
    page.on('pageerror', (error) => {
      this.lastError = error.message;
    });
  }

  /** Awaits an expression in the page, e.g. `bench.steps(3)`. */
  async evaluate<T>(expression: string): Promise<T> {
    return (await this.page.evaluate(expression)) as T;
  }

  async counts(): Promise<ProbeCounts> {
    return this.evaluate<ProbeCounts>('({ ...probe })');
  }

  /**
   * Milliseconds of processor time that the page's main thread has spent in tasks: JavaScript, its garbage collection
   * and the browser's side of its WebGPU calls. Waiting for the GPU, other threads and other processes do not count.
   */
  async threadTime(): Promise<number> {
    const { metrics } = await this.session.send('Performance.getMetrics');
    return 1000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
  }

  /** Vendor and architecture of the adapter that pages get by default. */
  async adapter(): Promise<string> {
    return this.evaluate<string>(`(async () => {
      const adapter = await navigator.gpu?.requestAdapter();
      if (!adapter) return 'no WebGPU';
      const { vendor, architecture, description } = adapter.info;
      return [vendor, architecture, description].filter(Boolean).join(' · ');
    })()`);
  }

  async front(): Promise<void> {
    await this.page.bringToFront();
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

function serve(folder: string): Server {
  return createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname));
    const file = join(folder, path);
    const headers = {
      'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    };
    if (dirname(path) === '/' && path.endsWith('.html')) {
      const script = `${path.slice(1, -'.html'.length)}.js`;
      response.writeHead(200, headers);
      response.end(
        `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`,
      );
    } else if (existsSync(file) && statSync(file).isFile()) {
      response.writeHead(200, headers);
      createReadStream(file).pipe(response);
    } else {
      response.writeHead(404);
      response.end();
    }
  }).listen(0, '127.0.0.1');
}
