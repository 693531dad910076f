import { beforeAll, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { checkReference } from './reference.checks.ts';

beforeAll(async () => {
  await openBackend('wasm');
});

test('a reference stays where it is, on wasm', () => checkReference());
