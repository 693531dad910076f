import { expect, test } from 'vitest';
import type { ListedRun } from '../../../worker/protocol.ts';
import { stagesOf } from './checkpoints.tsx';

test('the checkpoints of a run stand in the order of its stages', () => {
  const stages = ['sft', 'rl-easy', 'rl-hard'].map((name) => ({ name }));
  const run = { recipe: { stages }, checkpoints: ['rl-easy', 'rl-hard', 'sft'] } as unknown as ListedRun;
  expect(stagesOf(run)).toEqual(['sft', 'rl-easy', 'rl-hard']);
});
