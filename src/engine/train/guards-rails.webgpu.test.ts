import { beforeAll, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import { goingBackIsExact } from './guards-rails.cases.ts';

beforeAll(() => requireWebGpu());

// Gradients are summed in a fixed order, without atomics: the same numbers come again.
test('going back on a GPU overwrites weights and moments where captured steps read them', () =>
  goingBackIsExact(0));
