import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { checkForkGolden, checkModelGolden, checkStructuralGolden } from './decoder.golden.ts';

describe.each(['cpu', 'wasm'] as const)('decoder on %s equals PyTorch', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: logits, loss and gradients', (name) =>
    checkModelGolden(name),
  );
  test.each(['two_paths', 'three_paths', 'two_blocks', 'two_blocks_seen', 'unclosed_isolated'])(
    '%s: path-window attention',
    (name) => checkStructuralGolden(name),
  );
  test.each(['two_paths', 'three_paths', 'two_blocks'])('%s: fork and join on one cache', (name) =>
    checkForkGolden(name),
  );
});
