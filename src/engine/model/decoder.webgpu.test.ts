import { beforeAll, describe, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import { checkForkGolden, checkModelGolden, checkStructuralGolden } from './decoder.golden.ts';

describe('decoder on webgpu equals PyTorch', () => {
  beforeAll(async () => {
    await requireWebGpu();
  });

  test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: logits, loss and gradients', (name) =>
    checkModelGolden(name),
  );
  test.each(['three_paths', 'two_blocks'])('%s: path-window attention', (name) =>
    checkStructuralGolden(name),
  );
  test('two_blocks: fork and join on one cache', () => checkForkGolden('two_blocks'));
});
