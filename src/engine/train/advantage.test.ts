import { expect, test } from 'vitest';
import { groupAdvantages, groupsWithSpread, shareOfEqualGroups, splitAdvantages } from './advantage.ts';

const rewards = [1, -1, -1, 1, 1, 1, 1, 1, 1.2, -1, 1, 1];

test('scaled by the group, by the batch, or not at all', () => {
  const none = groupAdvantages(rewards, 4, 'none');
  const group = groupAdvantages(rewards, 4, 'group');
  const batch = groupAdvantages(rewards, 4, 'batch');
  expect(Array.from(none.subarray(0, 4))).toEqual([1, -1, -1, 1]);
  // Standard deviations with ddof 1: √(4/3) of the first group.
  expect(group[0]).toBeCloseTo(1 / (Math.sqrt(4 / 3) + 1e-6), 12);
  const mean = rewards.reduce((a, b) => a + b) / 12;
  const std = Math.sqrt(rewards.reduce((a, r) => a + (r - mean) ** 2, 0) / 11);
  none.forEach((a, i) => {
    expect(batch[i]).toBeCloseTo(a / (std + 1e-6), 12);
  });
  for (const advantages of [none, group, batch]) {
    expect(Array.from(advantages.subarray(4, 8))).toEqual([0, 0, 0, 0]);
    expect(advantages.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 12);
    expect(groupsWithSpread(advantages, 4)).toEqual([true, false, true]);
  }
  expect(shareOfEqualGroups(rewards, 4)).toBeCloseTo(1 / 3);
});

test('auxiliary rewards are centred by themselves and added', () => {
  const main = [1, -1, 1, 1];
  const split = splitAdvantages([...main, ...main], [[0.2, 0.4, 0, 0.2, 0.3, 0.3, 0.3, 0.3]], 4);
  const alone = groupAdvantages(main, 4);
  [0, 0.2, -0.2, 0].forEach((aux, i) => {
    expect(split[i]).toBeCloseTo(alone[i] + aux, 12);
    // An auxiliary reward that all got changes nothing at all.
    expect(split[4 + i]).toBe(alone[i]);
  });
  // Of a group that is right throughout the auxiliary reward keeps its size: it is not blown up to a deviation of 1.
  expect(Array.from(splitAdvantages([1, 1], [[0.01, 0.03]], 2))).toEqual(
    [-0.01, 0.01].map((x) => expect.closeTo(x, 12)),
  );
  // Not applicable: in no mean.
  expect(Array.from(splitAdvantages([1, 1, 1], [[0, null, 1]], 3))).toEqual([-0.5, 0, 0.5]);
});
