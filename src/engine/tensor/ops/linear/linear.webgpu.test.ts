import { describe } from 'vitest';
import { requireWebGpu } from '../../testing.ts';
import { linearTests } from './linear.checks.ts';

describe.skipIf(!(await requireWebGpu()))('linear on WebGPU', () => {
  linearTests();
});
