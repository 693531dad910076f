/**
 * One rollout while it is written: the fork/join state machine of Parallel-R1 (section 3.1; reference note, section 1)
 * over one row of the key/value cache. It knows no tensors: it lists tokens to feed, is told what was sampled, and
 * is the reference for the machine that a later kernel runs on the GPU.
 *
 * TRUNK —<Parallel>→ PATHS —all closed→ (</Parallel> … <Summary> injected) SUMMARY —</Summary>→ TRUNK —<eos>→ DONE
 *
 * Positions of the paths of a block start at one place (the paper), or `pathStride` apart (its first versions).
 *
 * Departures from the released code (reference note, section 6):
 * 1. At the limit of blocks <Parallel> is no longer offered, and the response goes on to its answer.
 * 2. A budget that runs out closes open paths and the summary first, so that no block is cut open.
 * 3. Positions are right for any number of paths.
 */
import { foldKey, uniformAt } from '../../base/rng.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';

export interface RowSettings {
  /** Paths per block, 1–8. */
  paths: number;
  /** Positions between the starts of neighbouring paths: 0 (unless given) = all start at one place. */
  pathStride?: number;
  maxBlocks: number;
  pathTokens: number;
  summaryTokens: number;
  /** Response tokens in all. */
  maxTokens: number;
  /** false bans <Parallel> altogether. */
  parallel: boolean;
  /** The token sampled after `after` is replaced by a uniform one of `replacements` with this probability. */
  noise: { after: number; replacements: readonly number[]; probability: number } | null;
}

/** A token to feed; `lane` ≥ 0 asks for a sample after it (0 = trunk or summary, k = path k). */
export interface Feed {
  token: number;
  position: number;
  branch: number;
  slot: number;
  lane: number;
  /** A token that must not be sampled, or −1. */
  banned: number;
}

/** A rollout that is being written, as far as it is to be drawn; tokens and branches in the order of slots. */
export interface RowView {
  readonly prompt: readonly number[];
  readonly tokens: ArrayLike<number>;
  readonly branches: ArrayLike<number>;
  readonly done: boolean;
}

type Mode = 'trunk' | 'paths' | 'summary' | 'done';

interface Path {
  /** Position of its last token. */
  position: number;
  length: number;
  closed: boolean;
}

/** Branch code of path k (1-based) of block b (1-based). */
export const branchCode = (block: number, path: number): number => 16 * block + path;

/** Cache slots that a row may use beyond its prompt and `maxTokens`: what closing a block may append. */
export const slackSlots = (paths: number, injected: number): number => 2 * paths + injected + 4;

type Prompts = readonly { prompt: readonly number[] }[];

export const longestPrompt = (requests: Prompts): number =>
  requests.reduce((most, { prompt }) => Math.max(most, prompt.length), 0);

/** Cache slots that a row needs for any of these requests. */
export function slotsPerRowFor(
  requests: Prompts,
  { maxTokens, paths }: RowSettings,
  ids: SpecialIds,
): number {
  return longestPrompt(requests) + maxTokens + slackSlots(paths, ids.beforeSummary.length);
}

/** Positions that a row may reach: a slot each, and where paths start apart, what lies between the starts. */
export function positionsFor(requests: Prompts, settings: RowSettings, ids: SpecialIds): number {
  const { paths, pathStride = 0, maxBlocks, maxTokens } = settings;
  // Even empty, a block takes its tags: <Parallel>, <Path> and </Path> of each path, </Parallel>, <Summary>, </Summary>.
  const blocks = Math.min(maxBlocks, Math.ceil(maxTokens / (2 * paths + 4)));
  return slotsPerRowFor(requests, settings, ids) + blocks * (paths - 1) * pathStride;
}

/** Salts that keep the streams of noise apart from those of sampling. */
const NOISE_HIT = 0x4e01;
const NOISE_VALUE = 0x4e02;

export class Row implements RowView {
  readonly tokens: number[] = [];
  readonly positions: number[] = [];
  readonly branches: number[] = [];
  /** 1 where the policy sampled the token itself (not injected, forced or replaced by noise). */
  readonly sampled: number[] = [];
  /** Log-prob of each sampled token at sampling time, else 0. */
  readonly logp: number[] = [];
  truncated = false;
  blocks = 0;
  /** Tokens that went through one after the other: trunk and summaries, and the longest path of each block. */
  critical = 0;
  mode: Mode = 'trunk';
  feeds: Feed[] = [];

  private trunkPosition = -1;
  private summaryLength = 0;
  private paths: Path[] = [];
  /** Last token of each lane. */
  private readonly last: number[];
  private readonly reserve: number;

  /** @param key stream of this rollout: folded (seed, stage, step, prompt, sample) */
  constructor(
    readonly prompt: readonly number[],
    readonly key: number,
    private readonly settings: RowSettings,
    private readonly ids: SpecialIds,
  ) {
    this.last = Array(settings.paths + 1).fill(-1);
    // Closing tags of the paths, the join, and a summary of a few tokens must still fit when a block opens.
    this.reserve = slackSlots(settings.paths, ids.beforeSummary.length);
    prompt.forEach((token, i) => {
      this.trunkPosition++;
      this.push(token, this.trunkPosition, 0, i === prompt.length - 1 ? 0 : -1);
    });
    this.critical = 0;
  }

  get responseLength(): number {
    return this.tokens.length - this.prompt.length;
  }

  get done(): boolean {
    return this.mode === 'done';
  }

  /** Key of the random numbers of a lane; their counter is the position of the token that is drawn. */
  laneKey(lane: number): number {
    return foldKey(this.key, lane);
  }

  /** Takes the token that was sampled for a lane. */
  advance(lane: number, sample: number, logp: number): void {
    const { noise } = this.settings;
    let token = sample;
    let own = 1;
    const position = lane === 0 ? this.trunkPosition + 1 : this.paths[lane - 1].position + 1;
    if (
      noise &&
      this.last[lane] === noise.after &&
      uniformAt(foldKey(this.laneKey(lane), NOISE_HIT), position) < noise.probability
    ) {
      const u = uniformAt(foldKey(this.laneKey(lane), NOISE_VALUE), position);
      token = noise.replacements[Math.floor(u * noise.replacements.length)];
      own = 0;
    }
    if (this.mode === 'paths') this.advancePath(lane, token, own, logp);
    else if (this.mode === 'summary') this.advanceSummary(token, own, logp);
    else this.advanceTrunk(token, own, logp);
  }

  private advanceTrunk(token: number, own: number, logp: number): void {
    const { ids } = this;
    if (token === ids.eos) {
      this.record(token, ++this.trunkPosition, 0, own, logp);
      this.critical++;
      this.mode = 'done';
    } else if (token === ids.parallel) {
      this.pushTrunk(token, -1, own, logp);
      this.fork();
    } else {
      const last = this.responseLength + 1 >= this.settings.maxTokens;
      if (last) {
        this.record(token, ++this.trunkPosition, 0, own, logp);
        this.critical++;
        this.truncate();
      } else this.pushTrunk(token, 0, own, logp);
    }
  }

  /** Position of <Path> of path k of the block that opens at the end of the trunk. */
  private startOf(path: number): number {
    return this.trunkPosition + 1 + (path - 1) * (this.settings.pathStride ?? 0);
  }

  private fork(): void {
    const { paths } = this.settings;
    this.mode = 'paths';
    this.blocks++;
    this.paths = [];
    for (let k = 1; k <= paths; k++) {
      const position = this.startOf(k);
      this.paths.push({ position, length: 0, closed: false });
      this.push(this.ids.path, position, branchCode(this.blocks, k), k);
    }
  }

  private advancePath(lane: number, token: number, own: number, logp: number): void {
    const { ids } = this;
    const { pathTokens, maxTokens } = this.settings;
    const path = this.paths[lane - 1];
    const code = branchCode(this.blocks, lane);
    if (token === ids.pathEnd || token === ids.eos) {
      // An <eos> inside a path closes it; that tag is then the runtime's, not the policy's.
      const real = token === ids.pathEnd;
      this.push(ids.pathEnd, ++path.position, code, -1, real ? own : 0, real ? logp : 0);
      path.closed = true;
    } else {
      path.length++;
      const full = path.length >= pathTokens || this.responseLength + 1 >= maxTokens - this.reserve;
      this.push(token, ++path.position, code, full ? -1 : lane, own, logp);
      if (full) {
        this.push(ids.pathEnd, ++path.position, code, -1);
        path.closed = true;
      }
    }
    if (this.paths.every((p) => p.closed)) this.join();
  }

  private join(): void {
    const { ids } = this;
    const end = Math.max(...this.paths.map((p) => p.position));
    this.critical += Math.max(...this.paths.map((p, i) => p.position - this.startOf(i + 1) + 1));
    this.trunkPosition = end;
    this.mode = 'summary';
    this.summaryLength = 0;
    this.pushTrunk(ids.parallelEnd, -1);
    for (const token of ids.beforeSummary) this.pushTrunk(token, -1);
    this.pushTrunk(ids.summary, 0);
  }

  private advanceSummary(token: number, own: number, logp: number): void {
    const { ids } = this;
    const { summaryTokens, maxTokens } = this.settings;
    if (token === ids.summaryEnd || token === ids.eos) {
      const real = token === ids.summaryEnd;
      this.closeSummary(real ? own : 0, real ? logp : 0);
      return;
    }
    this.summaryLength++;
    const full = this.summaryLength >= summaryTokens || this.responseLength + 2 >= maxTokens;
    this.pushTrunk(token, full ? -1 : 0, own, logp);
    if (full) this.closeSummary(0, 0);
  }

  private closeSummary(own: number, logp: number): void {
    this.mode = 'trunk';
    if (this.responseLength + 1 >= this.settings.maxTokens) {
      this.record(this.ids.summaryEnd, ++this.trunkPosition, 0, own, logp);
      this.critical++;
      this.truncate();
    } else this.pushTrunk(this.ids.summaryEnd, 0, own, logp);
  }

  private truncate(): void {
    this.truncated = true;
    this.mode = 'done';
    this.feeds = [];
  }

  private pushTrunk(token: number, lane: number, own = 0, logp = 0): void {
    this.critical++;
    this.push(token, ++this.trunkPosition, 0, lane, own, logp);
  }

  /** Writes a token down without feeding it: nothing comes after it. */
  private record(token: number, position: number, branch: number, own: number, logp: number): void {
    this.tokens.push(token);
    this.positions.push(position);
    this.branches.push(branch);
    this.sampled.push(own);
    this.logp.push(own ? logp : 0);
  }

  private push(token: number, position: number, branch: number, lane: number, own = 0, logp = 0): void {
    this.record(token, position, branch, own, logp);
    if (lane >= 0) this.last[lane] = token;
    this.feeds.push({
      token,
      position,
      branch,
      slot: this.tokens.length - 1,
      lane,
      banned: this.bannedFor(branch),
    });
  }

  private bannedFor(branch: number): number {
    if (branch !== 0 || this.mode !== 'trunk') return -1;
    const { parallel, maxBlocks, maxTokens } = this.settings;
    const room = maxTokens - this.responseLength - 2 * this.reserve;
    return !parallel || this.blocks >= maxBlocks || room < 0 ? this.ids.parallel : -1;
  }
}

/** A finished rollout in text order (path after path), ready for the training pass. */
export interface Rollout {
  tokens: Int32Array;
  positions: Int32Array;
  branches: Int32Array;
  sampled: Uint8Array;
  logp: Float32Array;
  promptLength: number;
  /** The budget ended it. */
  truncated: boolean;
  blocks: number;
  /** Length of the critical path, in response tokens. */
  critical: number;
}

/** Slots in text order: lanes of a block are interleaved while it is sampled; the paths of a block come one by one. */
export function textOrder(branches: ArrayLike<number>): Int32Array {
  const first = new Map<number, number>();
  const primary = Array.from(branches, (code, slot) => {
    if (code === 0) return slot;
    const block = code >> 4;
    if (!first.has(block)) first.set(block, slot);
    return first.get(block)!;
  });
  return Int32Array.from(branches, (_, slot) => slot).sort(
    (a, b) => primary[a] - primary[b] || branches[a] - branches[b] || a - b,
  );
}

export function finishedRollout(row: Row): Rollout {
  const order = textOrder(row.branches);
  const reorder = (values: number[]) => Array.from(order, (slot) => values[slot]);
  return {
    tokens: Int32Array.from(reorder(row.tokens)),
    positions: Int32Array.from(reorder(row.positions)),
    branches: Int32Array.from(reorder(row.branches)),
    sampled: Uint8Array.from(reorder(row.sampled)),
    logp: Float32Array.from(reorder(row.logp)),
    promptLength: row.prompt.length,
    truncated: row.truncated,
    blocks: row.blocks,
    critical: row.critical,
  };
}
