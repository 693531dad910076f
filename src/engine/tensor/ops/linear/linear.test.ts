import { beforeAll, describe } from 'vitest';
import { openBackend } from '../../device.ts';
import { linearTests } from './linear.checks.ts';

describe.each(['cpu', 'wasm'] as const)('linear on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });
  linearTests();
});
