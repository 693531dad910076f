/**
 * A run as one file: a zip of its folder, with a first member that says what it is. It has no data set in it; the rollouts
 * quote problems, so they come along only when they are asked for.
 */
import { downloadZip } from 'client-zip';
import { messageOf, UserError } from '../../base/assert.ts';
import { zipMembers } from '../../engine/data/read/archive.ts';
import { type ByteSource, blobSource, wholeOf } from '../../engine/data/read/bytes.ts';
import { parseRecipe } from '../../engine/train/recipe.ts';
import type { Directory } from './directory.ts';
import type { RunRecord } from './run-store.ts';

const FORMAT = 'polypath-run';
const VERSION = 1;
/** A record and a head are a few kilobytes. */
const SMALL = 1 << 22;
/** A single file of a run: more does not fit into an array. */
const LARGE = 2 ** 31 - 1;

const ROLLOUTS: ReadonlySet<string> = new Set(['rollouts.jsonl', 'rollouts.index']);

/** Everything that a run's folder has: nothing else is let in, above all no way out of the folder. */
const KNOWN =
  /^(run\.json|base\.json|frozen\.safetensors|events\.jsonl|rollouts\.jsonl|rollouts\.index|saves\/\d{1,9}\/(state\.safetensors|manifest\.json)|checkpoints\/[^/\\]{1,100}\/[\w.-]{1,100})$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Head {
  format: string;
  version: number;
  rollouts: boolean;
}

/** All files below a folder, with their paths. */
async function* filesBelow(folder: Directory, path = ''): AsyncGenerator<[string, Directory, string]> {
  for (const name of await folder.files()) yield [`${path}${name}`, folder, name];
  for (const name of await folder.folders()) yield* filesBelow(await folder.folder(name), `${path}${name}/`);
}

/** A save tells how long the logs were; without rollouts they are empty. */
function withoutRollouts(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const manifest = JSON.parse(decoder.decode(bytes));
  manifest.logs = { ...manifest.logs, rollouts: 0, index: 0 };
  return encoder.encode(JSON.stringify(manifest));
}

async function* membersOf(
  folder: Directory,
  rollouts: boolean,
): AsyncGenerator<{ name: string; input: Uint8Array<ArrayBuffer> }> {
  const head: Head = { format: FORMAT, version: VERSION, rollouts };
  yield { name: 'bundle.json', input: encoder.encode(JSON.stringify(head)) };
  // The reader must know whose files they are before they come.
  yield { name: 'run.json', input: (await folder.read('run.json')) ?? new Uint8Array() };
  for await (const [path, within, name] of filesBelow(folder)) {
    if (path === 'run.json' || !KNOWN.test(path) || (!rollouts && ROLLOUTS.has(path))) continue;
    const bytes = (await within.read(name)) ?? new Uint8Array();
    const isManifest = path.startsWith('saves/') && name === 'manifest.json';
    yield { name: path, input: !rollouts && isManifest ? withoutRollouts(bytes) : bytes };
  }
}

/** The folder of a run as a zip file; one of its files is in memory at a time. */
export function packRun(folder: Directory, { rollouts }: { rollouts: boolean }): Promise<Blob> {
  return downloadZip(membersOf(folder, rollouts)).blob();
}

const notOurs = (name: string, reason: string): UserError =>
  new UserError(`${name} is not a run of Polypath: ${reason}. Choose a file that “Save as a bundle” wrote.`);

async function readHead(name: string, member: ByteSource | undefined): Promise<void> {
  if (member?.name !== 'bundle.json') throw notOurs(name, 'it does not begin with bundle.json');
  let head: Partial<Head>;
  try {
    head = JSON.parse(decoder.decode(await wholeOf(member, SMALL)));
  } catch (error) {
    throw notOurs(name, messageOf(error));
  }
  if (head?.format !== FORMAT) throw notOurs(name, 'its bundle.json names another format');
  if (typeof head.version !== 'number' || head.version > VERSION)
    throw new UserError(
      `${name} was written by a newer version of Polypath (format ${head.version}, this one knows ${VERSION}). Reload the page to get the newest version.`,
    );
}

/** The record of a bundle, checked: it comes from outside. */
function readRecord(name: string, bytes: Uint8Array): RunRecord {
  try {
    const record = JSON.parse(decoder.decode(bytes)) as RunRecord;
    for (const key of ['created', 'updated', 'parameters', 'elapsedSeconds', 'tokens', 'scale'] as const)
      if (!Number.isFinite(record[key])) throw new Error(`run.json has no number "${key}"`);
    for (const key of ['id', 'name', 'device', 'notes'] as const)
      if (typeof record[key] !== 'string') throw new Error(`run.json has no text "${key}"`);
    if (!['unfinished', 'finished', 'failed'].includes(record.state))
      throw new Error(`run.json tells of a state "${record.state}"`);
    if (typeof record.scores !== 'object' || record.scores === null)
      throw new Error('run.json has no scores');
    return { ...record, recipe: parseRecipe(record.recipe) };
  } catch (error) {
    throw new UserError(`The run in ${name} can't be read: ${messageOf(error)}.`);
  }
}

/** `20260101-120000-ab12`, with another end where that is taken. */
function freeId(id: string, taken: ReadonlySet<string>): string {
  const wanted = /^[\w-]{1,64}$/.test(id) ? id : `imported-${crypto.randomUUID().slice(0, 8)}`;
  return taken.has(wanted) ? `${wanted.slice(0, 55)}-${crypto.randomUUID().slice(0, 8)}` : wanted;
}

/** Where the member goes, with the folders made that it needs. */
async function placeFor(folder: Directory, path: string): Promise<[Directory, string]> {
  const names = path.split('/');
  let place = folder;
  for (const name of names.slice(0, -1)) place = await place.folder(name);
  return [place, names[names.length - 1]];
}

/**
 * Takes a bundle in as a run of its own. Its record comes last: what was cut off in the middle is no run, and goes.
 * @param runs the folder of all runs
 * @throws UserError where the file is no bundle, is damaged, or does not fit on the disk
 */
export async function unpackRun(name: string, file: Blob, runs: Directory): Promise<RunRecord> {
  const members = zipMembers(blobSource(name, file));
  const next = async (): Promise<ByteSource | undefined> => {
    const { done, value } = await members.next();
    return done ? undefined : value;
  };
  await readHead(name, await next());
  const first = await next();
  if (first?.name !== 'run.json') throw notOurs(name, 'it has no run.json after its head');
  const record = readRecord(name, await wholeOf(first, SMALL));
  record.id = freeId(record.id, new Set(await runs.folders()));
  const folder = await runs.folder(record.id);
  try {
    for await (const member of members) {
      if (member.name === 'run.json' || !KNOWN.test(member.name)) continue;
      const [place, file] = await placeFor(folder, member.name);
      await place.write(file, await wholeOf(member, LARGE));
    }
    await folder.write('run.json', encoder.encode(JSON.stringify(record)));
    return record;
  } catch (error) {
    await runs.remove(record.id).catch(() => {});
    throw error;
  }
}
