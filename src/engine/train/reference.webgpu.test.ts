import { describe, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import { checkReference } from './reference.checks.ts';

describe.skipIf(!(await requireWebGpu()))('reference', () => {
  test('a reference stays where it is, on webgpu', () => checkReference());
});
