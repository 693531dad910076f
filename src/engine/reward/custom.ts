/**
 * Rewards that a person wrote: the body of a JavaScript function. The code may be anybody's (recipes are shared), so it
 * runs in a sandbox that the engine is handed: `src/worker/reward-sandbox.ts` is the one of the page.
 */
import type { RolloutTree } from '../rollout/tree.ts';

/** What the code is given, by name, in this order. */
export interface CustomRow {
  prompt: string;
  response: string;
  /** The final answer that was found, or null. */
  answer: string | null;
  gold: string;
  /** `tree.blocks[i].paths` are texts, `tree.segments` the stretches in order, with their lengths in tokens. */
  tree: RolloutTree;
  /** 1-based step of the stage. */
  step: number;
  correct: boolean;
}

export const CUSTOM_ARGUMENTS = [
  'prompt',
  'response',
  'answer',
  'gold',
  'tree',
  'step',
  'correct',
] as const satisfies readonly (keyof CustomRow)[];

export interface CustomRewardRunner {
  /**
   * One value a row; null = not applicable.
   * @param timeLimitMs of each row
   * @throws CustomRewardError naming the first row that failed
   */
  run(code: string, rows: readonly CustomRow[], timeLimitMs: number): Promise<(number | null)[]>;
}

export class CustomRewardError extends Error {
  override name = 'CustomRewardError';
  /** @param row index of the row that failed, or null if the code can't run at all */
  constructor(
    readonly row: number | null,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/**
 * Why code is refused before it ever runs, or null. `import(…)` is syntax, so no sandbox can take it away from the
 * code, and it reaches the network; a keyword can't be written with escapes, so the word alone is enough to look for.
 */
export function codeFault(code: string): string | null {
  if (/\bimport\b/.test(code))
    return 'holds the word "import", which is not allowed: the code has no modules and no network. Write it without, in comments and texts too.';
  try {
    // Compiled, never called: a syntax error is best known before anything starts.
    new Function(...CUSTOM_ARGUMENTS, `'use strict';\n${code}`);
  } catch (error) {
    return `is not the body of a JavaScript function: ${(error as Error).message}. Write statements that end in "return <number>".`;
  }
  return null;
}

const LONGEST_SHOWN = 300;

/** A row in a message: enough of it to see what the code was looking at. */
export function describeRow(row: CustomRow): string {
  const shown = (text: string | null) =>
    text === null
      ? 'null'
      : JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
  const { prompt, response, answer, gold, step, correct } = row;
  return `prompt ${shown(prompt)}, response ${shown(response)}, answer ${shown(answer)}, gold ${shown(gold)}, step ${step}, correct ${correct}`;
}
