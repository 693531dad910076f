/**
 * The strict format check on response tokens (Parallel-R1, Algorithm 1, and the stricter reward-time checker; reference
 * note, sections 3 and 6). A stack of tags can't tell an empty path from a real one, so what passes the stack but
 * teaches nothing is listed as a hack.
 */
import type { SpecialIds } from '../tokenizer/tags.ts';

export type Hack =
  | 'empty_path'
  | 'identical_paths'
  | 'missing_summary'
  | 'path_outside_block'
  | 'nested_block';

export interface FormatReport {
  /** All tags balance, every block has at least `minPaths` paths and its summary right behind it. No tags at all is valid. */
  valid: boolean;
  /** Blocks opened. */
  blocks: number;
  /** Blocks that are whole: closed, enough paths, with a summary. */
  validBlocks: number;
  /** What is wrong, in words. */
  faults: string[];
  /** Structures that a laxer checker would let through. */
  hacks: Hack[];
}

export interface FormatOptions {
  /** Fewest paths of a block. */
  minPaths?: number;
}

export function checkFormat(
  tokens: ArrayLike<number>,
  ids: SpecialIds,
  { minPaths = 2 }: FormatOptions = {},
): FormatReport {
  const faults: string[] = [];
  const hacks = new Set<Hack>();
  let blocks = 0;
  let validBlocks = 0;
  let state: 'trunk' | 'block' | 'path' | 'after' | 'summary' = 'trunk';
  let paths: string[] = [];
  let path: number[] = [];
  let blockFaults = 0;
  /** Tokens between </Parallel> and <Summary> that are allowed, in order. */
  let pending: number[] = [];
  const fault = (text: string, hack?: Hack): void => {
    faults.push(text);
    blockFaults++;
    if (hack) hacks.add(hack);
  };

  for (let t = 0; t < tokens.length; t++) {
    const token = tokens[t];
    if (state === 'after') {
      if (token === ids.summary) {
        state = 'summary';
        continue;
      }
      if (pending[0] === token) {
        pending.shift();
        continue;
      }
      fault(`block ${blocks} has no <Summary> right after </Parallel>`, 'missing_summary');
      state = 'trunk';
    }
    switch (token) {
      case ids.parallel:
        if (state === 'trunk') {
          state = 'block';
          blocks++;
          paths = [];
          blockFaults = 0;
        } else fault('<Parallel> inside a block or summary', 'nested_block');
        break;
      case ids.path:
        if (state === 'block') {
          state = 'path';
          path = [];
        } else fault('<Path> outside a block', 'path_outside_block');
        break;
      case ids.pathEnd:
        if (state === 'path') {
          state = 'block';
          if (path.length === 0) fault(`block ${blocks} has an empty path`, 'empty_path');
          paths.push(path.join(' '));
        } else fault('</Path> without <Path>');
        break;
      case ids.parallelEnd:
        if (state === 'block') {
          if (paths.length < minPaths) fault(`block ${blocks} has ${paths.length} path(s)`);
          if (new Set(paths).size < paths.length) hacks.add('identical_paths');
          state = 'after';
          pending = [...ids.beforeSummary];
        } else fault('</Parallel> without <Parallel>');
        break;
      case ids.summary:
        fault('<Summary> without a block before it');
        break;
      case ids.summaryEnd:
        if (state === 'summary') {
          state = 'trunk';
          if (blockFaults === 0) validBlocks++;
        } else fault('</Summary> without <Summary>');
        break;
      default:
        if (state === 'path') path.push(token);
    }
  }
  if (state === 'after') fault(`block ${blocks} has no <Summary> right after </Parallel>`, 'missing_summary');
  else if (state !== 'trunk') fault(`the text ends inside a ${state}`);
  return { valid: faults.length === 0, blocks, validBlocks, faults, hacks: [...hacks] };
}
