/** Tries the custom rewards of a recipe on a few made-up responses before a run starts. */
import { UserError } from '../../base/assert.ts';
import type { Problem } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import { type CustomRewardRunner, describeRow } from '../reward/custom.ts';
import { customPart } from '../reward/rewards.ts';
import type { Rollout } from '../rollout/row.ts';
import { structureOf } from '../rollout/tree.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { customRow, customValues, judge } from './judge.ts';
import type { GrpoStage } from './recipe.ts';

/** How many rows a check runs on: one of each kind of response. */
export const CHECKED_ROWS = 5;

/**
 * Right, right with a block, wrong, cut off and empty: what any run meets sooner or later.
 * @param problems at least `CHECKED_ROWS`
 */
export function sampleRollouts(
  problems: readonly Problem[],
  { tokenizer, task }: { tokenizer: Tokenizer; task: Task },
): Rollout[] {
  const final = ({ answer }: Problem) => task.answerMarker + answer;
  const block = ({ answer }: Problem) =>
    `<Parallel><Path>${answer}</Path><Path>${answer}</Path></Parallel><Summary>${answer}</Summary>`;
  const [right, parallel, , cut] = problems;
  const rows = [
    { text: final(right), ended: true },
    { text: block(parallel) + final(parallel), ended: true },
    // The answer of another problem, which may happen to be right.
    { text: final(right), ended: true },
    { text: cut.answer, ended: false },
    { text: '', ended: true },
  ];
  return rows.map(({ text, ended }, i) => {
    const { bos, eos } = tokenizer.special;
    const prompt = [...(bos >= 0 ? [bos] : []), ...tokenizer.encode(problems[i].prompt)];
    const tokens = Int32Array.from([...prompt, ...tokenizer.encode(text), ...(ended ? [eos] : [])]);
    const { positions, branches, blocks } = structureOf(tokens, prompt.length, tokenizer.special);
    return {
      tokens,
      positions,
      branches,
      sampled: new Uint8Array(tokens.length),
      logp: new Float32Array(tokens.length),
      promptLength: prompt.length,
      truncated: !ended,
      blocks,
      critical: tokens.length > prompt.length ? positions[tokens.length - 1] - prompt.length + 1 : 0,
    };
  });
}

/**
 * Runs the custom part of a stage's reward on the sample rows.
 * @returns what it paid, as a sentence; null where the stage has no custom reward
 * @throws UserError with the row on which the code failed
 */
export async function checkCustomReward(
  stage: GrpoStage,
  problems: readonly Problem[],
  context: { tokenizer: Tokenizer; task: Task },
  runner: CustomRewardRunner | undefined,
): Promise<string | null> {
  const part = customPart(stage.reward);
  if (!part) return null;
  const judged = sampleRollouts(problems, context).map((rollout, i) =>
    judge(rollout, problems[i], context, stage.reward, 1),
  );
  const where = `when it was tried on made-up responses before stage "${stage.name}"`;
  const values = await customValues(judged, part, 1, runner, where);
  const paid = judged.map((one, i) => `${values[i] ?? 'null'} for ${describeRow(customRow(one, 1))}`);
  if (values.every((value) => value === null))
    throw new UserError(
      `The custom reward of stage "${stage.name}" returned null (not applicable) for each of ${CHECKED_ROWS} made-up responses, so it would pay nothing. Let it return a number for some of them: ${paid.join('; ')}.`,
    );
  return `The custom reward of stage "${stage.name}", tried on ${CHECKED_ROWS} made-up responses, pays ${paid.join('; ')}.`;
}
