/**
 * The strict format check on response tokens (Parallel-R1, Algorithm 1, and the stricter reward-time checker; reference
 * note, sections 3 and 6). A stack of tags can't tell an empty path from a real one, so every structure that passes the
 * released checker but teaches nothing has a name, and `hack/<name>` is its share of the responses. What a response says
 * (answers, tags that are only spelled) is in `hacks.ts`.
 */
import type { SpecialIds } from '../tokenizer/tags.ts';

/** Never valid: the structure is broken. */
export const BROKEN = [
  'empty_paths',
  'too_few_paths',
  'too_many_blocks',
  'missing_summary',
  'late_summary',
  'unclosed_block',
  'unclosed_summary',
  'path_outside_block',
  'nested_block',
  'block_in_summary',
  'stray_tags',
] as const;

/**
 * Well-formed, and valid unless `refuse` says otherwise: where a derivation is short and certain, honest paths are
 * identical, and agreement is what a late fork is for.
 */
export const HOLLOW = ['identical_paths', 'repeated_blocks', 'copied_summary', 'empty_summary'] as const;

export type FormatHack = (typeof BROKEN)[number] | (typeof HOLLOW)[number];

export interface FormatReport {
  /** All tags balance, every block has enough paths and its summary right behind it. No tags at all is valid. */
  valid: boolean;
  /** Blocks opened. */
  blocks: number;
  /** Blocks that are whole: closed, enough paths, with a summary. */
  validBlocks: number;
  /** What is wrong, in words. */
  faults: string[];
  /** Structures that a laxer checker would let through, each once. */
  hacks: FormatHack[];
}

export interface FormatOptions {
  /** Fewest paths of a block. */
  minPaths?: number;
  /** Most blocks of a response; a rollout has at most 8. */
  maxBlocks?: number;
  /** Does a token hold no text (a space, a newline)? A path of such tokens is empty. Default: those before <Summary>. */
  isBlank?: (token: number) => boolean;
  /** Hollow structures that are faults too. */
  refuse?: readonly (typeof HOLLOW)[number][];
}

/** The block that is being read. */
interface Block {
  number: number;
  /** Token ids of each path, blanks left out. */
  paths: string[];
  faults: number;
  /** Its summary did not follow at once; it may still come, too late. */
  owed: boolean;
}

export function checkFormat(
  tokens: ArrayLike<number>,
  ids: SpecialIds,
  {
    minPaths = 2,
    maxBlocks = 8,
    isBlank = (token) => ids.beforeSummary.includes(token),
    refuse = [],
  }: FormatOptions = {},
): FormatReport {
  const faults: string[] = [];
  const hacks = new Set<FormatHack>();
  const seen = new Set<string>();
  let blocks = 0;
  let validBlocks = 0;
  let state: 'trunk' | 'block' | 'path' | 'after' | 'summary' = 'trunk';
  let block: Block = { number: 0, paths: [], faults: 0, owed: false };
  /** Words of the path or summary that is being read. */
  let words: number[] = [];
  /** Tokens between </Parallel> and <Summary> that are allowed, in order. */
  let pending: number[] = [];
  const fault = (text: string, hack: FormatHack): void => {
    faults.push(text);
    block.faults++;
    hacks.add(hack);
  };
  const hollow = (text: string, hack: (typeof HOLLOW)[number]): void => {
    if (refuse.includes(hack)) fault(text, hack);
    else hacks.add(hack);
  };
  const owe = (): void => {
    faults.push(`block ${blocks} has no <Summary> right after </Parallel>`);
    block.faults++;
    block.owed = true;
  };
  const settle = (): void => {
    if (block.owed) hacks.add('missing_summary');
    block.owed = false;
  };

  for (let t = 0; t < tokens.length; t++) {
    const token = tokens[t];
    if (state === 'after') {
      if (token === ids.summary) {
        state = 'summary';
        words = [];
        continue;
      }
      if (pending[0] === token) {
        pending.shift();
        continue;
      }
      owe();
      state = 'trunk';
    }
    switch (token) {
      case ids.parallel:
        if (state === 'trunk') {
          settle();
          state = 'block';
          block = { number: ++blocks, paths: [], faults: 0, owed: false };
          if (blocks > maxBlocks) fault(`block ${blocks} is one more than ${maxBlocks}`, 'too_many_blocks');
        } else if (state === 'summary') fault('<Parallel> inside a summary', 'block_in_summary');
        else fault('<Parallel> inside a block', 'nested_block');
        break;
      case ids.path:
        if (state === 'block') {
          state = 'path';
          words = [];
        } else if (state === 'path') fault('<Path> inside a path', 'stray_tags');
        else fault('<Path> outside a block', 'path_outside_block');
        break;
      case ids.pathEnd:
        if (state === 'path') {
          state = 'block';
          if (words.length === 0) fault(`block ${blocks} has an empty path`, 'empty_paths');
          block.paths.push(words.join(' '));
        } else fault('</Path> without <Path>', 'stray_tags');
        break;
      case ids.parallelEnd:
        if (state === 'block') {
          const { paths } = block;
          if (paths.length < minPaths) fault(`block ${blocks} has ${paths.length} path(s)`, 'too_few_paths');
          if (new Set(paths).size < paths.length)
            hollow(`block ${blocks} has identical paths`, 'identical_paths');
          state = 'after';
          pending = [...ids.beforeSummary];
        } else fault('</Parallel> without <Parallel>', 'stray_tags');
        break;
      case ids.summary:
        if (state === 'trunk' && block.owed) {
          hacks.add('late_summary');
          block.owed = false;
          state = 'summary';
          words = [];
        } else fault('<Summary> without a block before it', 'stray_tags');
        break;
      case ids.summaryEnd:
        if (state === 'summary') {
          state = 'trunk';
          const summary = words.join(' ');
          if (words.length === 0) hollow(`block ${blocks} has an empty summary`, 'empty_summary');
          else if (block.paths.includes(summary))
            hollow(`the summary of block ${blocks} is one of its paths`, 'copied_summary');
          // Paths in another order are the same block.
          const whole = [...block.paths].sort().concat(summary).join('/');
          if (seen.has(whole)) hollow(`block ${blocks} repeats an earlier one`, 'repeated_blocks');
          seen.add(whole);
          if (block.faults === 0) validBlocks++;
        } else fault('</Summary> without <Summary>', 'stray_tags');
        break;
      default:
        if ((state === 'path' || state === 'summary') && !isBlank(token)) words.push(token);
    }
  }
  if (state === 'after') owe();
  settle();
  if (state === 'summary') fault('the text ends inside a summary', 'unclosed_summary');
  else if (state === 'block' || state === 'path') fault(`the text ends inside a ${state}`, 'unclosed_block');
  return { valid: faults.length === 0, blocks, validBlocks, faults, hacks: [...hacks] };
}
