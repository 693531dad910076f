import { describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import type { Metrics } from './events.ts';
import { type GuardName, Guards, keepsCopies, type Trouble } from './guards.ts';
import { type GrpoStage, parseRecipe, type SftStage } from './recipe.ts';

const tiny = parseRecipe(tinyRecipe);
const stage = tiny.stages.find(({ kind }) => kind === 'grpo') as GrpoStage;
const sft = tiny.stages.find(({ kind }) => kind === 'sft') as SftStage;

const GOOD: Metrics = {
  loss: 0.01,
  grad_norm: 1,
  reward: 0.6,
  accuracy: 0.8,
  entropy: 0.06,
  'parallel/valid_ratio': 0.98,
  'parallel/ratio': 0.9,
};
/** A little noise, the same each time. */
const wobble = (step: number) => 0.03 * Math.sin(7 * step);
const good = (step: number): Metrics => ({
  ...GOOD,
  reward: GOOD.reward! + 4 * wobble(step),
  entropy: GOOD.entropy! + wobble(step) / 3,
  'parallel/valid_ratio': GOOD['parallel/valid_ratio']! + wobble(step),
  'parallel/ratio': GOOD['parallel/ratio']! + wobble(step),
});

/** What is found in so many good steps and then twenty like `bad`. */
function provoke(bad: (k: number) => Metrics, over: Partial<GrpoStage['guards']> = {}, goodSteps = 30) {
  const watch = new Guards({ ...stage, guards: { ...stage.guards, ...over } });
  const found: (Trouble & { step: number })[] = [];
  for (let step = 1; step <= goodSteps + 20; step++) {
    const metrics = step <= goodSteps ? good(step) : { ...good(step), ...bad(step - goodSteps) };
    found.push(...watch.see(step, metrics).map((trouble) => ({ ...trouble, step })));
  }
  return found;
}

/** Two of each trouble: at once, and over several steps. */
const PROVOKED: readonly [GuardName, string, (k: number) => Metrics, RegExp][] = [
  [
    'reward',
    'at once',
    () => ({ reward: -0.9, accuracy: 0.05 }),
    /Reward collapse: .* fell from 0\.6\d\d to/,
  ],
  ['reward', 'in steps', (k) => ({ reward: 0.6 - 0.2 * k }), /Reward collapse/],
  ['entropy', 'at once', () => ({ entropy: 0.0004 }), /Entropy collapse: .* nats, below 0.005/],
  ['entropy', 'in steps', (k) => ({ entropy: 0.06 * 0.4 ** k }), /Entropy collapse/],
  ['format', 'at once', () => ({ 'parallel/valid_ratio': 0.2 }), /Loss of the format: .* fell from 0\.9/],
  ['format', 'in steps', (k) => ({ 'parallel/valid_ratio': 0.98 - 0.1 * k }), /Loss of the format/],
  ['exploration', 'at once', () => ({ 'parallel/ratio': 0 }), /Loss of exploration: .* fell from 0\.9/],
  ['exploration', 'in steps', (k) => ({ 'parallel/ratio': 0.9 * 0.75 ** k }), /Loss of exploration/],
  ['nan', 'of the loss', () => ({ loss: Number.NaN }), /loss became NaN in stage "rl-easy", step 31\./],
  ['nan', 'of the gradient', () => ({ grad_norm: Number.POSITIVE_INFINITY }), /grad_norm became Infinity/],
];

describe('each trouble is found within ten steps, named with its beginning, and explained', () => {
  test.each(PROVOKED)('%s, %s', (guard, _, bad, what) => {
    const found = provoke(bad);
    const first = found[0];
    expect(first.guard).toBe(guard);
    expect(first.step).toBeGreaterThan(30);
    expect(first.step).toBeLessThanOrEqual(40);
    expect(first.since).toBeGreaterThan(30);
    expect(first.since).toBeLessThanOrEqual(first.step);
    expect(first.what).toMatch(what);
    if (guard !== 'nan') expect(first.what).toContain(`since step ${first.since}.`);
    expect(first.advice).toMatch(/[Tt]ry /);
  });

  test('forks that vanish are told as that', () => {
    // A window of one looks at the bare value.
    const [found] = provoke(() => ({ 'parallel/ratio': 0 }), { window: 1 });
    expect(found).toMatchObject({ guard: 'exploration', since: 31, step: 31 });
    expect(found.what).toMatch(/the model stopped forking; its parallel ratio was 0\.9/);
  });

  test('since names the first bad step when the fall is sudden', () => {
    expect(provoke(() => ({ reward: -1 }))[0].since).toBe(31);
    expect(provoke(() => ({ 'parallel/valid_ratio': 0 }))[0].since).toBe(31);
  });
});

describe('no false alarm', () => {
  test('in good steps, nor in a model that never could', () => {
    expect(provoke(() => ({}))).toEqual([]);
    const watch = new Guards(stage);
    const never = { ...GOOD, reward: -1, accuracy: 0, 'parallel/valid_ratio': 0, 'parallel/ratio': 0.02 };
    for (let step = 1; step <= 30; step++) expect(watch.see(step, never)).toEqual([]);
  });

  test('for a single bad step, low entropy where all is solved, and steps that teach nothing', () => {
    expect(provoke((k) => (k === 3 ? { reward: -1 } : {}))).toEqual([]);
    expect(provoke(() => ({ entropy: 0.0001, accuracy: 0.99 }))).toEqual([]);
    const { entropy: _, ...none } = GOOD;
    const watch = new Guards(stage);
    for (let step = 1; step <= 30; step++) expect(watch.see(step, none)).toEqual([]);
  });

  test('where the guard is off, or the stage supervised', () => {
    expect(provoke(() => ({ reward: -1 }), { reward: 'off' })).toEqual([]);
    const watch = new Guards(sft);
    for (let step = 1; step <= 20; step++) expect(watch.see(step, { ...GOOD, entropy: 0 })).toEqual([]);
    expect(watch.see(21, { loss: Number.NaN })).toMatchObject([{ guard: 'nan', action: 'stop', since: 21 }]);
  });
});

test('a trouble is told once, and again only after it was over', () => {
  const steady = provoke(() => ({ reward: -1 }));
  expect(steady.filter(({ guard }) => guard === 'reward')).toHaveLength(1);
  const twice = provoke((k) => (k <= 4 || k >= 14 ? { reward: -1 } : { reward: 0.7 }));
  expect(twice.map(({ step }) => step)).toEqual([expect.any(Number), expect.any(Number)]);
  expect(twice[1].since).toBe(44);
});

test('several at once: what acts comes before what warns', () => {
  const found = provoke(() => ({ reward: -1, 'parallel/valid_ratio': 0 }), {
    window: 1,
    reward: 'warn',
    format: 'rollback',
  });
  expect(found.map(({ guard, action }) => [guard, action])).toEqual([
    ['format', 'rollback'],
    ['reward', 'warn'],
  ]);
});

test('detection goes on from a save as if it had never stopped', () => {
  const bad = (step: number) => (step <= 30 ? good(step) : { ...good(step), reward: -1 });
  const whole = new Guards(stage);
  const expected = Array.from({ length: 40 }, (_, i) => whole.see(i + 1, bad(i + 1)));
  let watch = new Guards(stage);
  const pieces = Array.from({ length: 40 }, (_, i) => {
    watch = new Guards(stage, JSON.parse(JSON.stringify(watch.state)));
    return watch.see(i + 1, bad(i + 1));
  });
  expect(pieces).toEqual(expected);
  expect(pieces.flat()).toHaveLength(1);
});

test('copies are made only where a guard may need them', () => {
  expect(keepsCopies(stage)).toBe(false);
  expect(keepsCopies(sft)).toBe(false);
  expect(keepsCopies({ ...sft, guards: { ...sft.guards, nan: 'rollback' } })).toBe(true);
  for (const action of ['stop', 'rollback'] as const)
    expect(keepsCopies({ ...stage, guards: { ...stage.guards, format: action } })).toBe(true);
  expect(keepsCopies({ ...stage, guards: { ...stage.guards, format: 'off' } })).toBe(false);
});
