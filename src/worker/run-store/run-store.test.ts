import { beforeAll, describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json';
import { UserError } from '../../base/assert.ts';
import { parseModelConfig } from '../../engine/model/config.ts';
import { openBackend } from '../../engine/tensor/device.ts';
import { loadTokenizer } from '../../engine/tokenizer/hf-tokenizer.ts';
import type { RolloutRecord, SavedRun, TrainEvent } from '../../engine/train/events.ts';
import { parseRecipe } from '../../engine/train/recipe.ts';
import { runRecipe } from '../../engine/train/run.ts';
import { MemoryDirectory } from './memory-directory.ts';
import { type LoggedEvent, type RunRecord, RunStore, type StoredRun } from './run-store.ts';

const recipe = parseRecipe(tinyRecipe);
const record = (id: string): RunRecord => ({
  id,
  name: 'Tiny',
  recipe,
  scale: 1,
  created: 1,
  updated: 1,
  state: 'unfinished',
  saved: null,
  parameters: 1,
  device: 'wasm',
  scores: {},
  elapsedSeconds: 0,
  tokens: 0,
  notes: '',
});
const saved = (step: number): SavedRun => ({
  recipe,
  scale: 1,
  stage: 0,
  step,
  elapsedSeconds: step,
  tokens: step,
  optimizerSteps: step,
  state: Uint8Array.from({ length: 1000 }, (_, i) => (i * step) % 251).buffer,
});
const stepEvent = (step: number): LoggedEvent => ({
  type: 'step',
  stage: 's',
  stageIndex: 0,
  kind: 'sft',
  step,
  timeSeconds: step,
  metrics: { loss: 1 / step },
});
const rollouts = (step: number, count: number) =>
  Array.from(
    { length: count },
    (_, sample) => ({ stage: 's', step, sample, text: `é ${step}` }) as RolloutRecord,
  );

async function fresh(disk?: MemoryDirectory['disk']) {
  const root = new MemoryDirectory(disk);
  const run = await new RunStore(root).create(record('a'));
  return { root, run, again: () => new RunStore(root).open('a') };
}

describe('a run on disk', () => {
  test('its save, logs and rollouts come back as they were', async () => {
    const { run, again } = await fresh();
    for (const step of [1, 2]) {
      run.log(stepEvent(step));
      await run.logRollouts(rollouts(step, 3));
    }
    await run.save(saved(2), [{ name: 'd.jsonl', hash: 'h' }]);
    const other = await again();
    expect(other.record.saved).toMatchObject({ stage: 0, step: 2 });
    const back = await other.load(true);
    expect(back?.saved).toEqual(saved(2));
    expect(back?.data).toEqual([{ name: 'd.jsonl', hash: 'h' }]);
    expect(await other.events()).toEqual([stepEvent(1), stepEvent(2)]);
    expect(await other.rolloutsOf('s', 2)).toEqual(rollouts(2, 3));
    expect((await other.rolloutSteps()).map(({ step, count }) => [step, count])).toEqual([
      [1, 3],
      [2, 3],
    ]);
  });

  test('going on cuts off what was logged after the save; looking does not', async () => {
    const { run, again } = await fresh();
    run.log(stepEvent(1));
    await run.logRollouts(rollouts(1, 2));
    await run.save(saved(1), []);
    run.log(stepEvent(2));
    await run.flush();
    await run.logRollouts(rollouts(2, 2));
    const looked = await again();
    await looked.load(false);
    expect(await looked.events()).toHaveLength(2);
    const resumed = await again();
    await resumed.load(true);
    expect(await resumed.events()).toEqual([stepEvent(1)]);
    expect(await resumed.rolloutSteps()).toHaveLength(1);
    expect(await resumed.rolloutsOf('s', 2)).toEqual([]);
  });

  test('two good saves are kept, and a damaged one is passed over with its reason', async () => {
    const { root, run, again } = await fresh();
    for (const step of [1, 2, 3, 4]) await run.save(saved(step), []);
    const saves = await (await (await root.folder('runs')).folder('a')).folder('saves');
    expect(await saves.folders()).toEqual(['3', '4']);
    await (await saves.folder('4')).write('state.safetensors', new Uint8Array(1000));
    const back = await (await again()).load(true);
    expect(back?.saved.step).toBe(3);
    expect(back?.passedOver.join()).toMatch(/weights are damaged/);
  });

  test('a line that a crash cut off is passed over', async () => {
    const { root, run, again } = await fresh();
    run.log(stepEvent(1));
    await run.flush();
    await (await (await root.folder('runs')).folder('a')).append(
      'events.jsonl',
      new TextEncoder().encode('{"ty'),
    );
    expect(await (await again()).events()).toEqual([stepEvent(1)]);
  });

  test('runs are listed newest first, and a deleted one is gone', async () => {
    const store = new RunStore(new MemoryDirectory());
    const a = await store.create(record('a'));
    await store.create(record('b'));
    await a.update({ notes: 'later', updated: Date.now() + 1000 });
    expect((await store.list()).map(({ id }) => id)).toEqual(['a', 'b']);
    await store.delete('a');
    expect((await store.list()).map(({ id }) => id)).toEqual(['b']);
    await expect(store.open('a')).rejects.toThrow(UserError);
  });
});

describe('a crash at any moment of a save', () => {
  /** Every change that a save makes to the disk. */
  async function changes(): Promise<string[]> {
    const seen: string[] = [];
    const { root, run } = await fresh();
    await run.save(saved(1), []);
    await run.save(saved(2), []);
    root.disk.before = (change) => seen.push(change);
    run.log(stepEvent(3));
    await run.save(saved(3), []);
    return seen;
  }

  test('leaves the last good save, old or new, and the next save works', async () => {
    const all = await changes();
    expect(all.length).toBeGreaterThanOrEqual(5);
    for (let crash = 0; crash < all.length; crash++) {
      const { root, run, again } = await fresh();
      await run.save(saved(1), []);
      await run.save(saved(2), []);
      let count = 0;
      root.disk.before = () => {
        // A crashed process writes nothing any more, not even what it would clean up.
        if (count++ >= crash) throw new Error('crash');
      };
      run.log(stepEvent(3));
      await run.save(saved(3), []).catch(() => {});
      root.disk.before = undefined;
      const resumed = await again();
      const back = await resumed.load(true);
      expect([2, 3], `crash at “${all[crash]}”`).toContain(back?.saved.step);
      expect(back?.saved).toEqual(saved(back!.saved.step));
      await resumed.save(saved(4), []);
      expect((await (await again()).load(true))?.saved.step).toBe(4);
    }
  });

  test('a full disk leaves the last good save, and says that it is full', async () => {
    for (let room = 0; room < 3000; room += 150) {
      const { root, run, again } = await fresh();
      await run.save(saved(1), []);
      root.disk.room = room;
      const failed = await run.save(saved(2), []).then(
        () => null,
        (error: DOMException) => error.name,
      );
      root.disk.room = Number.POSITIVE_INFINITY;
      const back = await (await again()).load(true);
      if (failed) expect(failed).toBe('QuotaExceededError');
      else expect(back?.saved.step).toBe(2);
      expect(back?.saved).toEqual(saved(back!.saved.step));
    }
  });
});

describe('saves of other versions', () => {
  const write = async (manifest: unknown) => {
    const { root, again } = await fresh();
    const folder = await (await (await (await root.folder('runs')).folder('a')).folder('saves')).folder('1');
    await folder.write('state.safetensors', new Uint8Array(saved(1).state));
    await folder.write('manifest.json', new TextEncoder().encode(JSON.stringify(manifest)));
    return again();
  };

  test('a newer one says what to do', async () => {
    const run = await write({ version: 99 });
    await expect(run.load(true)).rejects.toThrow(/newer version of Polypath \(format 99, this one knows 1\)/);
  });

  test('one that is no manifest says so', async () => {
    await expect((await write({ version: 'x' })).load(true)).rejects.toThrow(/version is "x"/);
    await expect((await write([])).load(true)).rejects.toThrow(UserError);
  });
});

describe('N steps, a save through the store, M steps = N + M steps, bit for bit', () => {
  beforeAll(async () => {
    await openBackend('wasm');
  });
  const short = parseRecipe({
    ...tinyRecipe,
    evaluation: { ...tinyRecipe.evaluation, sets: [] },
    stages: tinyRecipe.stages
      .filter(({ name }) => ['base-a', 'rl-hard'].includes(name))
      .map((stage) => ({ ...stage, steps: 4 })),
  });
  const context = {
    recipe: short,
    scale: 1,
    resume: null,
    dropped: new Map(),
    droppedModel: null,
    loadShipped: () => Promise.reject(new Error('not asked for')),
  };
  const facts = (events: readonly LoggedEvent[]) =>
    events.flatMap((event) => {
      if (event.type !== 'step') return [];
      const metrics = Object.entries(event.metrics).filter(([name]) => !/^perf|step_time/.test(name));
      return [[event.stage, event.step, Object.fromEntries(metrics)]];
    });
  const texts = async (run: StoredRun) => {
    const steps = await run.rolloutSteps();
    return Promise.all(
      steps.map(async ({ stage, step }) => (await run.rolloutsOf(stage, step)).map(({ text }) => text)),
    );
  };

  /** Drives a run into the store until the step `stop`, saves there, and goes on with another one as after a reload. */
  async function drive(stop: { stage: string; step: number } | null) {
    const store = new RunStore(new MemoryDirectory());
    let run = await store.create({ ...record('a'), recipe: short });
    const keep = async (event: TrainEvent): Promise<void> => {
      if (event.type === 'rollouts') await run.logRollouts(event.records);
      else if (event.type === 'base') await run.writeBase(event);
      else if (event.type === 'checkpoint') await run.checkpoint(event.stage, event.files);
      else if (event.type === 'autosave') await run.save(event.saved, []);
      else if (event.type !== 'tick' && event.type !== 'rollout-progress') run.log(event);
    };
    const handle = runRecipe(context);
    let stopped = false;
    for await (const event of handle.events) {
      await keep(event);
      if (event.type === 'step' && event.stage === stop?.stage && event.step === stop.step) {
        await run.save((await handle.save())!, []);
        stopped = true;
        break;
      }
    }
    if (stopped) {
      // Not saved any more, so it is not there after the crash.
      run.log(stepEvent(99));
      await run.flush();
      run = await store.open('a');
      const { base } = await run.readBase();
      const back = await run.load(true);
      const resumed = runRecipe({
        ...context,
        resume: back!.saved,
        base: {
          config: parseModelConfig(base.config),
          tokenizer: loadTokenizer(base.tokenizerJson, base.tokenizerConfigJson),
        },
      });
      for await (const event of resumed.events) await keep(event);
    }
    await run.flush();
    const weights = (await run.readCheckpoint('rl-hard')).find(({ path }) => path === 'model.safetensors')!;
    return {
      facts: facts(await run.events()),
      texts: await texts(run),
      weights: new Uint8Array(weights.bytes),
    };
  }

  test.each([
    { stage: 'base-a', step: 2 },
    { stage: 'rl-hard', step: 2 },
    { stage: 'rl-hard', step: 4 },
  ])('saved at step $step of $stage', async (stop) => {
    const whole = await drive(null);
    const parts = await drive(stop);
    expect(whole.facts).toHaveLength(8);
    expect(parts.facts).toEqual(whole.facts);
    expect(parts.texts).toEqual(whole.texts);
    expect(parts.weights).toEqual(whole.weights);
  });
});
