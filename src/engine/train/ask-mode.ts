/** The ways of asking, with the help of their settings: what the page shows and what a request is checked against. */
import { UserError } from '../../base/assert.ts';
import type { GenerateSettings } from '../rollout/generate.ts';
import type { KnobHelp } from './recipe.ts';

export type AskMode =
  /** One response to the plain prompt, without forks. */
  | { kind: 'sequential' }
  /** One response that may fork; `decide` says whether its own final answer or its derivations' vote counts. */
  | { kind: 'parallel'; decide: 'model' | 'paths'; paths?: number }
  /** The most frequent answer of so many sequential responses (self-consistency). */
  | { kind: 'vote'; votes: number }
  /** The same, `width` responses at once, stopped as soon as `agree` of them say the same. */
  | { kind: 'consensus'; votes: number; width: number; agree?: number }
  /** Sequential first; with forks only where the answer is missing or not sure enough. */
  | { kind: 'fallback'; confidence: number; measure: 'mean' | 'least' };

type AskKnob = KnobHelp & { min: number; max: number; integer: boolean; default: number | null };

/** Settings with a number. */
// biome-ignore format: a table, a setting a row.
export const ASK_KNOBS = {
  paths: { label: 'Paths', min: 1, max: 8, integer: true, default: null, healthy: [2, 7],
    help: 'Paths per block, also more than in training; empty = as in training. More paths are more votes for more tokens at the same depth.' },
  votes: { label: 'Votes', min: 1, max: 128, integer: true, default: 8, healthy: [3, 16],
    help: 'Sequential responses that vote. An odd number ties less often.' },
  width: { label: 'At once', min: 1, max: 16, integer: true, default: 8, healthy: [2, 16],
    help: 'Responses that are written at the same time. Fewer save tokens where the first ones agree, and take longer where they do not.' },
  agree: { label: 'Enough', min: 1, max: 128, integer: true, default: null, healthy: [2, 8],
    help: 'Equal answers that end the vote; empty = more than half of the votes, which the others could not overrule.' },
  confidence: { label: 'Sure enough', min: 0, max: 1, integer: false, default: 0.9, healthy: [0.5, 0.99],
    help: 'A sequential answer is kept if the model gave its tokens at least this probability: on average (geometric mean), or the least likely one.' },
} as const satisfies Record<string, AskKnob>;

/** Throws a sentence if a mode's settings cannot be used. */
export function checkAskMode(mode: AskMode, { temperature, topK, noise }: GenerateSettings): void {
  for (const [name, { label, min, max, integer }] of Object.entries(ASK_KNOBS)) {
    const value = (mode as unknown as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value >= min && value <= max) || (integer && !Number.isInteger(value)))
      throw new UserError(
        `"${name}" (${label}) must be a ${integer ? 'whole ' : ''}number between ${min} and ${max}, but is ${JSON.stringify(value)}.`,
      );
  }
  if (mode.kind === 'consensus' && mode.agree !== undefined && mode.agree > mode.votes)
    throw new UserError(
      `"agree" (${mode.agree}) must not exceed "votes" (${mode.votes}): so many can never agree. Lower it or raise "votes".`,
    );
  const votes = mode.kind === 'vote' || mode.kind === 'consensus' ? mode.votes : 1;
  if (votes > 1 && (temperature === 0 || topK === 1) && !noise)
    throw new UserError(
      'A vote needs responses that differ, but greedy decoding writes the same one every time. Raise the temperature ' +
        'above 0 and top-k above 1, or ask once.',
    );
}
