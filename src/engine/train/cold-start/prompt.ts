/**
 * The two prompts of a cold start (Parallel-R1, section 3.2; reference note, sections 1 and 3). The paper asks a strong
 * model in detail, and trains with a shorter prompt, which must be the same again in RL and evaluation: the tags only
 * appear with exactly the training prompt. The wording is our own; what is asked for is the paper's.
 */

const RULES = [
  'Solve the problem step by step.',
  'Whenever a step may benefit from several perspectives, insert a parallel block there: at least two independent paths, then a concise summary.',
  'Paths make no reference to each other.',
  'End with one line "Final Answer: X".',
];

/** What a row's prompt is: for SFT, RL and evaluation. */
export const trainingPrompt = (question: string): string => `${question}\n\n${RULES.join(' ')}`;

/** What the writer of trajectories is asked: the same, with the format spelled out. */
export const generationPrompt = (question: string): string => `${RULES.join('\n')}

A parallel block is written exactly like this, with the summary right behind it:

<Parallel>
<Path>
first way, worked out in full
</Path>
<Path>
second way, worked out on its own
</Path>
</Parallel>
<Summary>
what the paths found, and what to go on with
</Summary>

- Use at least one block. Never put a block inside a path or a summary.
- Go on with the solution after each summary.
- Write each tag only as part of such a block, and no text between the paths.
- X is the answer alone, without words around it, as the last line of the text.

Problem:
${question}`;
