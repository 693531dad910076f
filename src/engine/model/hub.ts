/**
 * Models by name from the Hugging Face Hub: the list of files of a commit, then each file in parts by HTTP Range, each
 * part kept as soon as it is whole. A download that was cut off goes on from its parts, and a whole one needs no network
 * again. Endpoints: `/api/models/{id}/revision/{rev}?blobs=true` and `/{id}/resolve/{commit}/{path}` (Hub API docs).
 */
import { messageOf, UserError } from '../../base/assert.ts';
import { nameOf } from './blobs.ts';
import {
  idOf,
  type KeptFile,
  type Manifest,
  PART_SIZE,
  type PartStore,
  partCount,
  partPath,
  readManifest,
  writeManifest,
} from './model-files.ts';

export interface HubOptions {
  store: PartStore;
  fetch: typeof fetch;
  /** Default https://huggingface.co */
  endpoint?: string;
  /** Access token for gated or private models; never stored. */
  token?: string;
  progress?(done: number, all: number): void;
  signal?: AbortSignal;
  /** Waits; a test's own returns at once. */
  sleep?(milliseconds: number): Promise<void>;
  partSize?: number;
  now?(): number;
}

const RETRIES = 5;
const LONGEST_WAIT = 60_000;
/** Small files that a model needs besides its weights. */
const WANTED = new Set([
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
]);
const INDEX = 'model.safetensors.index.json';

export interface HubName {
  /** `owner/name` */
  id: string;
  revision: string;
}

/** Parses `owner/name[@revision]`, or an address of the Hub. */
export function parseHubName(text: string, revision = 'main'): HubName {
  const bare = text.trim().replace(/^https?:\/\/[^/]+\//, '');
  const match = /^([\w.-]+\/[\w.-]+)(?:@([\w./-]+)|\/tree\/([\w./-]+))?\/?$/.exec(bare);
  if (!match || match[1].includes('..') || (match[2] ?? '').includes('..'))
    throw new UserError(
      `${JSON.stringify(text)} is no name of a model on the Hub. Write it as owner/name or owner/name@revision, e.g. HuggingFaceTB/SmolLM2-135M-Instruct.`,
    );
  return { id: match[1], revision: match[2] ?? match[3] ?? revision };
}

/** The folder that a model of the Hub is kept in. */
export const hubFolder = ({ id, revision }: HubName): string => idOf(`hub--${id}@${revision}`);

interface Listing {
  commit: string;
  /** Sizes are null where the Hub does not say. */
  files: { path: string; size: number | null }[];
}

/** The model's manifest: at once if it is there already, else after its download. */
export async function fetchHubModel(name: HubName, options: HubOptions): Promise<Manifest> {
  const { store } = options;
  const folder = hubFolder(name);
  const kept = await readManifest(store, folder);
  if (kept) return kept;
  const listing = await listFiles(name, options);
  const chosen = chooseFiles(listing.files, name);
  const partSize = options.partSize ?? PART_SIZE;
  const files: KeptFile[] = [];
  const known = chosen.reduce((sum, { size }) => sum + (size ?? 0), 0);
  let done = 0;
  const plan = { folder, commit: listing.commit };
  await forgetOther(plan, store);
  for (const file of chosen) {
    const size = await download(name, plan, file, partSize, options, (bytes) => {
      done += bytes;
      options.progress?.(done, Math.max(known, done));
    });
    files.push({ path: file.path, size, partSize });
  }
  const manifest: Manifest = {
    version: 1,
    id: folder,
    name: name.id,
    source: 'hub',
    revision: listing.commit,
    files,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    saved: (options.now ?? Date.now)(),
  };
  await writeManifest(store, manifest);
  return manifest;
}

/** Parts of an earlier download go if they are of another commit: shards of two never belong together. */
async function forgetOther({ folder, commit }: { folder: string; commit: string }, store: PartStore) {
  const begun = await store.read(`${folder}/commit`);
  if (begun && (await begun.text()) === commit) return;
  await store.remove(folder);
  await store.write(`${folder}/commit`, new TextEncoder().encode(commit));
}

async function listFiles(name: HubName, options: HubOptions): Promise<Listing> {
  const path = `/api/models/${name.id}/revision/${encodeURIComponent(name.revision)}?blobs=true`;
  const response = await request(path, {}, name, options);
  let json: { sha?: unknown; siblings?: unknown };
  try {
    json = await response.json();
  } catch (error) {
    throw new UserError(
      `The Hub's answer about ${name.id} is not JSON (${messageOf(error)}). Try again later.`,
    );
  }
  if (typeof json?.sha !== 'string' || !Array.isArray(json.siblings))
    throw new UserError(`The Hub's answer about ${name.id} lists no files. Try again later.`);
  const files = json.siblings.flatMap((sibling) =>
    typeof sibling?.rfilename === 'string'
      ? [{ path: sibling.rfilename, size: Number.isSafeInteger(sibling.size) ? sibling.size : null }]
      : [],
  );
  return { commit: json.sha, files };
}

/** Configuration, tokenizer, and safetensors: one file if there is one, else the shards. */
export function chooseFiles<F extends { path: string }>(files: readonly F[], name: HubName): F[] {
  const top = files.filter(({ path }) => !path.includes('/'));
  const has = (path: string) => top.some((file) => file.path === path);
  if (!has('config.json')) {
    const gguf = top.find(({ path }) => path.endsWith('.gguf'));
    throw new UserError(
      `${name.id} has no config.json.${gguf ? ` It holds GGUF files: download one (e.g. ${gguf.path}) and drop it here.` : ' It is no model that Polypath can load.'}`,
    );
  }
  const weights = has('model.safetensors')
    ? ['model.safetensors']
    : has(INDEX)
      ? [INDEX, ...top.map(({ path }) => path).filter((path) => /^model-\d+-of-\d+\.safetensors$/.test(path))]
      : [];
  if (weights.length === 0)
    throw new UserError(
      `${name.id} has no safetensors weights at its top. Use a model that has, or convert it with save_pretrained.`,
    );
  return top.filter(({ path }) => WANTED.has(path) || weights.includes(path));
}

/** @returns the file's size */
async function download(
  name: HubName,
  plan: { folder: string; commit: string },
  file: { path: string; size: number | null },
  partSize: number,
  options: HubOptions,
  got: (bytes: number) => void,
): Promise<number> {
  let size = file.size ?? Number.POSITIVE_INFINITY;
  if (size === 0) {
    await options.store.write(partPath(plan.folder, file.path, 0), new Uint8Array());
    return 0;
  }
  for (let part = 0; part < partCount({ path: file.path, size: Math.min(size, 2 ** 50), partSize }); part++) {
    options.signal?.throwIfAborted();
    const begin = part * partSize;
    if (begin > 0 && begin >= size) break;
    const path = partPath(plan.folder, file.path, part);
    const there = await options.store.read(path);
    if (there && there.size > 0 && there.size === Math.min(partSize, size - begin)) {
      got(there.size);
      continue;
    }
    const end = Math.min(size, begin + partSize);
    const result = await fetchPart({ name, commit: plan.commit, file }, begin, end, options, got);
    if (file.size !== null && result.total !== file.size)
      throw new UserError(
        `${nameOf(file.path)} of ${name.id} has ${result.total} bytes, but the Hub lists ${file.size}. Try again later.`,
      );
    size = result.total;
    await options.store.write(path, result.bytes);
  }
  return size;
}

/** Bytes [begin, end) of a file, over as many connections as it takes. */
async function fetchPart(
  {
    name,
    commit,
    file: { path, size },
  }: { name: HubName; commit: string; file: { path: string; size: number | null } },
  begin: number,
  end: number,
  options: HubOptions,
  got: (bytes: number) => void,
): Promise<{ bytes: Blob; total: number }> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let at = begin;
  let last = end;
  let total: number | null = null;
  for (let failures = 0; total === null || at < last; ) {
    const from = at;
    const response = await request(
      `/${name.id}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`,
      { range: `bytes=${at}-${last - 1}` },
      name,
      options,
      path,
    );
    total = totalOf(response, at, size, `${nameOf(path)} of ${name.id}`);
    last = Math.min(last, total);
    // A server that knows no ranges sends the file from its beginning.
    let skip = response.status === 206 ? 0 : at;
    const reader = response.body?.getReader();
    try {
      while (reader && at < last) {
        options.signal?.throwIfAborted();
        const { done, value } = await reader.read();
        if (done) break;
        const fresh = value.subarray(Math.min(skip, value.length));
        skip -= value.length - fresh.length;
        const useful = fresh.slice(0, last - at);
        chunks.push(useful);
        at += useful.length;
        if (useful.length > 0) got(useful.length);
      }
    } catch (error) {
      if (options.signal?.aborted) throw error;
      // A cut connection: what came is kept, the rest is asked for again.
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
    if (at >= last) break;
    failures = at > from ? 0 : failures + 1;
    if (failures >= RETRIES)
      throw new UserError(
        `The download of ${nameOf(path)} was cut off ${RETRIES} times without getting further. Check the connection and start it again: it goes on where it stopped.`,
      );
    await wait(failures, null, options);
  }
  return { bytes: new Blob(chunks), total: total ?? 0 };
}

/** The size of the file, from the answer's headers. */
function totalOf(response: Response, at: number, listed: number | null, what: string): number {
  const range = response.headers.get('content-range');
  const parts = /^bytes (\d+)-\d+\/(\d+)$/.exec(range ?? '');
  if (response.status === 206 && parts && Number(parts[1]) === at) return Number(parts[2]);
  // Another origin may hide the header from a page; then the list's size has to do.
  if (response.status === 206 && range === null && listed !== null) return listed;
  const length = Number(response.headers.get('content-length'));
  if (response.status === 200 && response.headers.has('content-length') && Number.isSafeInteger(length))
    return length;
  throw new UserError(
    `The server's answer for ${what} does not say which bytes it holds, so it can't be trusted. Try again later.`,
  );
}

/** A request that is repeated while the server is busy or the connection fails. */
async function request(
  path: string,
  headers: Record<string, string>,
  name: HubName,
  options: HubOptions,
  file?: string,
): Promise<Response> {
  const url = (options.endpoint ?? 'https://huggingface.co').replace(/\/$/, '') + path;
  if (options.token) headers.authorization = `Bearer ${options.token}`;
  // Called as a plain function: a browser's fetch must not have another `this`.
  const { signal, fetch: get } = options;
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted();
    let response: Response | null = null;
    let reason = '';
    try {
      response = await get(url, { headers, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      reason = `could not be reached (${messageOf(error)})`;
    }
    if (response?.ok) return response;
    if (response && response.status !== 429 && response.status < 500)
      throw new UserError(refusal(response, name, options, file));
    if (response) {
      reason =
        response.status === 429
          ? 'asks to wait (too many requests)'
          : `is in trouble (status ${response.status})`;
      await response.body?.cancel().catch(() => undefined);
    }
    if (failures >= RETRIES)
      throw new UserError(
        `${new URL(url).host} ${reason}, ${RETRIES + 1} times in a row. Check the connection, or try again later; a download goes on where it stopped.`,
      );
    await wait(failures, response?.headers.get('retry-after') ?? null, options);
  }
}

function refusal(response: Response, name: HubName, options: HubOptions, file?: string): string {
  const { status } = response;
  // The Hub answers 401 for names that do not exist as well, so as not to tell who has which private models.
  if (status === 401 || status === 403)
    return response.headers.get('x-error-code') === 'GatedRepo' || status === 403 || options.token
      ? `${name.id} is gated or private, and ${options.token ? 'your token does not open it' : 'needs an access token'}. Accept its terms on the Hub, then enter a token with read access; it is kept in memory only.`
      : `The Hub shows no ${name.id} without an access token: the name is wrong, or the model is private or gated. Check the name, or enter a token with read access; it is kept in memory only.`;
  if (status === 404)
    return file
      ? `${name.id} has no file ${file} at this revision.`
      : `The Hub has no ${name.id}${name.revision === 'main' ? '' : ` at the revision "${name.revision}"`}. Check the spelling, capitals too.`;
  return `The Hub refused ${file ?? name.id} (status ${status}). Try again later.`;
}

const realSleep = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds);
  });

/** One second, two, four …, or as long as the server asks. */
async function wait(failures: number, retryAfter: string | null, options: HubOptions): Promise<void> {
  const asked = retryAfter === null ? Number.NaN : Number(retryAfter) * 1000;
  const time = Number.isFinite(asked) && asked >= 0 ? asked : 1000 * 2 ** failures;
  await (options.sleep ?? realSleep)(Math.min(time, LONGEST_WAIT));
  options.signal?.throwIfAborted();
}
