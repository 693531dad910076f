/** For tests: a small Hub on this machine that serves files by range, and misbehaves as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HubServer {
  endpoint: string;
  /** `METHOD path range` of every request so far. */
  requests: string[];
  /** Looks at a request before the Hub answers; true: it has been answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  commit: string;
  /** Leaves the sizes out of the list. */
  sizes: boolean;
  close(): Promise<void>;
}

export async function openHub(id: string, files: ReadonlyMap<string, Uint8Array>): Promise<HubServer> {
  const server = createServer((request, response) => {
    hub.requests.push(`${request.url} ${request.headers.range ?? ''}`.trim());
    if (hub.intercept?.(request, response)) return;
    const url = decodeURIComponent(request.url ?? '');
    if (url.startsWith(`/api/models/${id}/revision/main`)) {
      const siblings = [...files].map(([rfilename, bytes]) => ({
        rfilename,
        ...(hub.sizes && { size: bytes.length }),
      }));
      response.end(JSON.stringify({ sha: hub.commit, siblings }));
      return;
    }
    const bytes = files.get(url.replace(`/${id}/resolve/${hub.commit}/`, ''));
    if (!bytes) {
      response.writeHead(404).end();
      return;
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const end = Math.min(Number(to) + 1, bytes.length);
    response.writeHead(206, {
      'content-range': `bytes ${from}-${end - 1}/${bytes.length}`,
      'content-length': end - Number(from),
    });
    response.end(bytes.subarray(Number(from), end));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const hub: HubServer = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    intercept: null,
    commit: 'c0ffee'.padEnd(40, '0'),
    sizes: true,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return hub;
}
