/**
 * Structure of a response: from flat tokens to branch codes, positions and the tree that is drawn. Tags are read from
 * *response* tokens only: a prompt may speak of <Parallel> without opening a block (reference note, section 6, fault 5).
 */
import type { SpecialIds } from '../tokenizer/tags.ts';

/** One stretch of a rollout, for drawing. Trunk stretches have block = path = 0. */
export interface Segment {
  kind: 'trunk' | 'path' | 'summary';
  /** 1-based block number of a path or summary. */
  block: number;
  /** 1-based path number of a path. */
  path: number;
  text: string;
  tokens: number;
  /** Still being written. */
  open: boolean;
}

/** A rollout as a tree: what `rollouts.jsonl` stores and the page draws. */
export interface RolloutTree {
  segments: Segment[];
  blocks: { paths: string[]; summary: string | null }[];
}

export interface Structure {
  /** RoPE positions, one per token. */
  positions: Int32Array;
  /** Branch codes, one per token: 16 · block + path, 0 on the trunk. */
  branches: Int32Array;
  /** Number of parallel blocks, closed or not. */
  blocks: number;
}

export interface StructureOptions {
  /** Added to the position of every response token. */
  positionGap?: number;
  /** 'unseen' isolates the paths of a block (path-window mask); 'seen' is plain causal text (Parallel-R1, section 3.3). */
  variant?: 'unseen' | 'seen';
  /**
   * Where the paths of a block start: all at one place (the paper), `pathStride` apart (its first versions), or each
   * behind the last, as plain text does.
   */
  positions?: 'shared' | 'disjoint' | 'consecutive';
  pathStride?: number;
  /**
   * A block that the text ends in: 'isolated' as if it closed at the end (what a rollout that was cut is), 'released'
   * keeps the shared positions but no isolation (the released code), 'plain' treats it as ordinary text.
   */
  unclosed?: 'isolated' | 'released' | 'plain';
}

/** Highest path number of a branch code; a path beyond it is not isolated from path 15. */
const MAX_PATH = 15;

/**
 * Positions and branch codes of a flat sequence. With p the position of <Parallel>, every <Path> of its block gets p + 1
 * and its path counts up from there; the token after the last path gets the longest path's end + 1.
 */
export function structureOf(
  tokens: ArrayLike<number>,
  promptLength: number,
  ids: SpecialIds,
  {
    positionGap = 0,
    variant = 'unseen',
    positions: rule = 'shared',
    pathStride = 0,
    unclosed = 'isolated',
  }: StructureOptions = {},
): Structure {
  const T = tokens.length;
  const positions = new Int32Array(T);
  const branches = new Int32Array(T);
  let blocks = 0;
  let position = -1;
  let block: { at: number; start: number; end: number; path: number; inPath: boolean } | null = null;
  // A <Parallel> inside a summary is a word of it, as the rollout and `treeOf` read it.
  let summary: 'none' | 'awaited' | 'open' = 'none';
  for (let t = 0; t < T; t++) {
    const token = tokens[t];
    const structural = t >= promptLength && variant === 'unseen';
    if (t === promptLength) position += positionGap;
    if (structural && block && token === ids.parallelEnd && !block.inPath) {
      position = block.end;
      block = null;
      summary = 'awaited';
    } else if (structural && !block && token === ids.summary && summary === 'awaited') summary = 'open';
    else if (summary === 'open' && token === ids.summaryEnd) summary = 'none';
    if (structural && block && !block.inPath && token === ids.path) {
      block.path = Math.min(block.path + 1, MAX_PATH);
      block.inPath = true;
      if (rule !== 'consecutive')
        position = block.start + (rule === 'disjoint' ? (block.path - 1) * pathStride : 0);
    }
    positions[t] = ++position;
    if (block?.inPath) {
      branches[t] = 16 * blocks + block.path;
      block.end = Math.max(block.end, position);
      if (token === ids.pathEnd) {
        block.inPath = false;
        position = block.end;
      }
    } else if (block) block.end = Math.max(block.end, position);
    if (structural && !block && summary !== 'open' && token === ids.parallel) {
      summary = 'none';
      blocks++;
      block = { at: t, start: position, end: position, path: 0, inPath: false };
    }
  }
  if (block && unclosed !== 'isolated')
    for (let t = block.at + 1; t < T; t++) {
      branches[t] = 0;
      if (unclosed === 'plain') positions[t] = positions[t - 1] + 1;
    }
  return { positions, branches, blocks };
}

/** Does slot i see slot j? The rule itself, for tests: j ≤ i and not two different paths of one block. */
export function visible(branches: ArrayLike<number>, i: number, j: number): boolean {
  const sameBlock = branches[i] >> 4 === branches[j] >> 4 && branches[i] >> 4 > 0;
  return j <= i && !(sameBlock && branches[i] !== branches[j]);
}

/**
 * The tree of a response; `open` says that it is still being written. Paths that grow side by side have no </Path>
 * between them yet: there, `branches` (the rollout's own codes, in the order of the tokens) tell them apart.
 */
export function treeOf(
  tokens: ArrayLike<number>,
  promptLength: number,
  ids: SpecialIds,
  decode: (ids: number[]) => string,
  open = false,
  branches?: ArrayLike<number>,
): RolloutTree {
  const segments: Segment[] = [];
  const blocks: RolloutTree['blocks'] = [];
  let current: number[] = [];
  let kind: Segment['kind'] = 'trunk';
  let path = 0;
  let inBlock = false;

  const finish = (stillOpen: boolean): void => {
    const text = decode(current);
    // An empty trunk stretch is not worth a node; an empty path or summary is a fault worth seeing.
    if (current.length > 0 || kind !== 'trunk') {
      const own = kind === 'trunk' ? 0 : blocks.length;
      segments.push({
        kind,
        block: own,
        path: kind === 'path' ? path : 0,
        text,
        tokens: current.length,
        open: stillOpen,
      });
      if (kind === 'path') blocks[blocks.length - 1].paths.push(text);
      if (kind === 'summary') blocks[blocks.length - 1].summary = text;
    }
    current = [];
    kind = 'trunk';
  };

  for (let t = promptLength; t < tokens.length; t++) {
    const token = tokens[t];
    if (token === ids.parallel && kind === 'trunk' && !inBlock) {
      finish(false);
      blocks.push({ paths: [], summary: null });
      inBlock = true;
      path = 0;
    } else if (token === ids.path && kind === 'path' && branches && branches[t] !== branches[t - 1]) {
      finish(true);
      kind = 'path';
      path++;
    } else if (token === ids.path && inBlock && kind === 'trunk') {
      current = [];
      kind = 'path';
      path++;
    } else if (token === ids.pathEnd && kind === 'path') finish(false);
    else if (token === ids.parallelEnd && inBlock && kind === 'trunk') {
      inBlock = false;
      current = [];
    } else if (
      token === ids.summary &&
      kind === 'trunk' &&
      !inBlock &&
      blocks.length > 0 &&
      blocks[blocks.length - 1].summary === null
    ) {
      current = [];
      kind = 'summary';
    } else if (token === ids.summaryEnd && kind === 'summary') finish(false);
    else current.push(token);
  }
  finish(open);
  return { segments, blocks };
}
