import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { type ModelConfig, parameterCount } from '../model/config.ts';
import { editDistance, helpFor, nearest, parseRecipe, type Recipe, scaleRecipe } from './recipe.ts';

const load = (name: string) => readFileSync(new URL(`../../../models/${name}.json`, import.meta.url), 'utf8');
const minimal = () => ({
  version: 1,
  name: 'x',
  model: { source: 'scratch', hiddenSize: 8, intermediateSize: 16, layers: 1, heads: 2, kvHeads: 2 },
  stages: [
    {
      kind: 'sft',
      name: 'a',
      data: { source: 'task', task: 'signed-chain', mix: [{ kind: 'base', terms: [2, 3] }] },
      steps: 10,
      batchSize: 4,
      learningRate: 1e-3,
    },
    {
      kind: 'grpo',
      name: 'b',
      data: { task: 'signed-chain', difficulty: 'easy', terms: [2] },
      steps: 5,
      promptsPerStep: 2,
      groupSize: 4,
      learningRate: 1e-4,
      reward: { kind: 'alternating' },
      rollout: {},
    },
  ],
  evaluation: { sets: [], rollout: {} },
});
const HELD_OUT = { name: 'x', task: 'signed-chain', difficulty: 'easy', terms: [2], problems: 4 };
// biome-ignore lint/suspicious/noExplicitAny: the tests break documents on purpose
const broken = (edit: (document: any) => void) => {
  const document = minimal();
  edit(document);
  return () => parseRecipe(document);
};

function parametersOf(recipe: Recipe, vocabSize: number): number {
  const { model } = recipe;
  if (model.source !== 'scratch') throw new Error('not from scratch');
  const config: ModelConfig = {
    ...model,
    vocabSize,
    headDim: model.headDim ?? model.hiddenSize / model.heads,
    qkvBias: false,
    outputBias: false,
    mlpBias: false,
    qkNorm: false,
  };
  return parameterCount(config);
}

describe('parseRecipe', () => {
  test('an evaluation set that says nothing more is decoded once, as its stage was trained', () => {
    const { evaluation } = parseRecipe({ ...minimal(), evaluation: { sets: [HELD_OUT], rollout: {} } });
    expect(evaluation.sets).toEqual([
      {
        ...HELD_OUT,
        bigShare: null,
        samples: 4,
        ks: [],
        decode: ['stage'],
        paths: null,
        greedy: false,
        equalTokens: false,
        byTerms: false,
      },
    ]);
  });

  test('fills in what is usual', () => {
    const recipe = parseRecipe(minimal());
    const [sft, grpo] = recipe.stages;
    expect(sft).toMatchObject({
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      maxGradNorm: 1,
      tagLearningRate: 1,
      gradientCheckpointing: false,
      microBatchTokens: 4096,
    });
    expect(sft).toMatchObject({ schedule: 'cosine', loss: 'completion', warmupSteps: 0 });
    expect(grpo).toMatchObject({
      schedule: 'constant',
      clipLow: 0.2,
      clipHigh: 0.28,
      dualClip: 3,
      weightDecay: 0,
    });
    expect(grpo).toMatchObject({
      reward: { kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 },
      rollout: { paths: 2, temperature: 1, topK: 0, topP: 1, minP: 0 },
    });
    expect(recipe.autosave.minutes).toBeGreaterThan(0);
    expect(parseRecipe(JSON.stringify(minimal()))).toEqual(recipe);
    expect(parseRecipe(recipe)).toEqual(recipe);
  });

  test.each([
    [
      'an unknown key',
      broken((d) => {
        d.stages[1].rollout.pathz = 3;
      }),
      /"stages\[1\]\.rollout\.pathz" is not a known setting\. Did you mean "paths"\?/,
    ],
    [
      'an unknown key of a mix',
      broken((d) => {
        d.stages[0].data.mix[0].teacherNoiseBgi = 0;
      }),
      /"stages\[0\]\.data\.mix\[0\]\.teacherNoiseBgi".*"teacherNoiseBig"/,
    ],
    [
      'a key of the other kind',
      broken((d) => {
        d.stages[0].groupSiez = 8;
      }),
      /"stages\[0\]\.groupSiez" is not a known setting/,
    ],
    [
      'an unknown key at the top',
      broken((d) => {
        d.sead = 1;
      }),
      /"sead" is not a known setting\. Did you mean "seed"\?/,
    ],
    [
      'a key of Object.prototype',
      broken((d) => {
        d.stages[0].toString = 1;
      }),
      /"stages\[0\]\.toString" is not a known setting/,
    ],
    [
      'a group of one',
      broken((d) => {
        d.stages[1].groupSize = 1;
      }),
      /"stages\[1\]\.groupSize" must be between 2 and 256, but is 1/,
    ],
    [
      'nine paths',
      broken((d) => {
        d.stages[1].rollout.paths = 9;
      }),
      /"stages\[1\]\.rollout\.paths" must be between 1 and 8, but is 9/,
    ],
    [
      'no path',
      broken((d) => {
        d.evaluation.rollout.paths = 0;
      }),
      /"evaluation\.rollout\.paths" must be between 1 and 8/,
    ],
    [
      'more of k than samples',
      broken((d) => {
        d.evaluation.sets = [{ ...HELD_OUT, samples: 4, ks: [2, 8] }];
      }),
      /"evaluation\.sets\[0\]\.ks": 8 of 4 samples cannot be drawn\. Raise/,
    ],
    [
      'a decoding twice',
      broken((d) => {
        d.evaluation.sets = [{ ...HELD_OUT, decode: ['parallel', 'parallel'] }];
      }),
      /"evaluation\.sets\[0\]\.decode" names a decoding twice/,
    ],
    [
      'half a step',
      broken((d) => {
        d.stages[0].steps = 1.5;
      }),
      /"stages\[0\]\.steps" must be a whole number/,
    ],
    [
      'a missing key',
      broken((d) => {
        delete d.stages[0].learningRate;
      }),
      /"stages\[0\]\.learningRate" is missing/,
    ],
    [
      'text for a number',
      broken((d) => {
        d.stages[0].learningRate = '1e-3';
      }),
      /"stages\[0\]\.learningRate" must be a number, but is "1e-3"/,
    ],
    [
      'an unknown kind',
      broken((d) => {
        d.stages[0].kind = 'stf';
      }),
      /"stages\[0\]\.kind" must be one of "sft", "grpo", but is "stf"\. Did you mean "sft"/,
    ],
    [
      'a missing kind',
      broken((d) => {
        delete d.stages[0].kind;
      }),
      /"stages\[0\]\.kind" is missing/,
    ],
    [
      'an unknown choice',
      broken((d) => {
        d.stages[0].schedule = 'cosin';
      }),
      /"stages\[0\]\.schedule" must be one of .*Did you mean "cosine"/,
    ],
    [
      'two stages of one name',
      broken((d) => {
        d.stages[1].name = 'a';
      }),
      /"stages\[1\]\.name": "a" is already the name of stages\[0\]/,
    ],
    [
      'no stage',
      broken((d) => {
        d.stages = [];
      }),
      /"stages" is empty/,
    ],
    [
      'a stage that is no object',
      broken((d) => {
        d.stages[0] = 3;
      }),
      /"stages\[0\]" must be an object/,
    ],
    [
      'no terms',
      broken((d) => {
        d.stages[1].data.terms = [];
      }),
      /"stages\[1\]\.data\.terms" is empty/,
    ],
    [
      'parallel documents without a template',
      broken((d) => {
        d.stages[0].data.mix[0].kind = 'parallel';
      }),
      /templates" needs a weight above 0/,
    ],
    [
      'a long warm-up',
      broken((d) => {
        d.stages[0].warmupSteps = 11;
      }),
      /"stages\[0\]\.warmupSteps" \(11\) must not exceed/,
    ],
    [
      'heads that do not divide',
      broken((d) => {
        d.model.heads = 3;
      }),
      /"model\.heads".*even whole number/,
    ],
    [
      'another version',
      broken((d) => {
        d.version = 2;
      }),
      /version 2/,
    ],
    ['no JSON', () => parseRecipe('{"version": 1,'), /not JSON/],
    ['a list', () => parseRecipe([]), /one JSON object/],
    ['nothing', () => parseRecipe(null), /one JSON object/],
  ])('refuses %s', (_, parse, message) => {
    expect(parse).toThrow(UserError);
    expect(parse).toThrow(message);
  });

  test('lists several faults, and not too many', () => {
    const parse = broken((d) => {
      Object.assign(d.stages[0], {
        steps: 0,
        batchSize: 0,
        learningRate: -1,
        beta1: 2,
        beta2: 2,
        epsilon: 0,
        loss: 'x',
      });
    });
    expect(parse).toThrow(/"stages\[0\]\.steps"[\s\S]*"stages\[0\]\.batchSize"[\s\S]*and 2 more/);
  });
});

test('the nearest key', () => {
  expect(editDistance('kitten', 'sitting')).toBe(3);
  expect(editDistance('', 'abc')).toBe(3);
  expect(nearest('learningrate', ['learningRate', 'loss'])).toBe('learningRate');
  expect(nearest('zzzzzz', ['learningRate', 'loss'])).toBeNull();
});

describe('the committed recipes', () => {
  test('default: config H', () => {
    const recipe = parseRecipe(load('default-recipe'));
    expect(recipe.stages.map((stage) => [stage.name, stage.kind, stage.steps])).toEqual([
      ['base-a', 'sft', 600],
      ['base-b', 'sft', 350],
      ['base-c', 'sft', 180],
      ['base-d', 'sft', 300],
      ['sft-1', 'sft', 450],
      ['sft-2', 'sft', 500],
      ['rl-easy', 'grpo', 20],
      ['rl-hard', 'grpo', 120],
    ]);
    expect(parametersOf(recipe, 48)).toBe(235_488);
    expect(recipe.evaluation.sets.map((set) => [set.name, set.problems, set.samples])).toEqual([
      ['easy', 100, 4],
      ['hard', 100, 4],
    ]);
  });

  test('tiny: the same stages, small enough for a software GPU', () => {
    const tiny = parseRecipe(load('tiny-recipe'));
    expect(tiny.stages.map((stage) => stage.name)).toEqual(
      parseRecipe(load('default-recipe')).stages.map((stage) => stage.name),
    );
    expect(parametersOf(tiny, 48)).toBeLessThan(50_000);
  });
});

describe('scaleRecipe', () => {
  const recipe = parseRecipe(load('default-recipe'));

  test('scales steps, warm-up and evaluation together', () => {
    const small = scaleRecipe(recipe, 0.1);
    expect(small.stages.map((stage) => stage.steps)).toEqual([60, 35, 18, 30, 45, 50, 2, 12]);
    expect(small.stages[0].warmupSteps).toBe(5);
    expect(small.stages[6]).toMatchObject({ evaluateEvery: 0, warmupSteps: 0 });
    expect(small.stages[7]).toMatchObject({ evaluateEvery: 2 });
    expect(recipe.stages[0].steps).toBe(600);
    expect(scaleRecipe(recipe, 1)).toEqual(recipe);
  });

  test('keeps at least one step, and stays a valid recipe', () => {
    const one = scaleRecipe(recipe, 1e-6);
    expect(one.stages.every((stage) => stage.steps === 1)).toBe(true);
    expect(one.stages[7]).toMatchObject({ evaluateEvery: 1 });
    expect(parseRecipe(one)).toEqual(one);
    for (const scale of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => scaleRecipe(recipe, scale)).toThrow(UserError);
  });
});

describe('helpFor', () => {
  test('finds a knob by the kind of its union or by the recipe', () => {
    expect(helpFor('stages.grpo.groupSize')).toMatchObject({
      min: 2,
      max: 256,
      integer: true,
      paper: '5 (easy), 8 (hard)',
    });
    expect(helpFor('stages.sft.learningRate')?.paper).toBe('1e-5 (4B)');
    expect(helpFor('stages[6].learningRate', parseRecipe(load('default-recipe')))?.paper).toBe('1e-6 (4B)');
    expect(helpFor('stages[].rollout.temperature')).toMatchObject({ default: 1, healthy: [0.7, 1] });
    expect(helpFor('stages.grpo.dualClip')).toMatchObject({ default: 3, max: 1000 });
    expect(helpFor('model.scratch.architecture')?.options).toContain('qwen3');
    expect(helpFor('no.such')).toBeNull();
  });

  test('every knob of the default recipe has a help text', () => {
    const recipe = parseRecipe(load('default-recipe'));
    const silent: string[] = [];
    const walk = (value: unknown, path: string) => {
      if (Array.isArray(value)) {
        if (typeof value[0] === 'object')
          for (const [i, item] of value.entries()) walk(item, `${path}[${i}]`);
        else if (!helpFor(path, recipe)) silent.push(path);
      } else if (typeof value === 'object' && value !== null) {
        for (const [key, item] of Object.entries(value)) walk(item, path ? `${path}.${key}` : key);
      } else if (!/(^version|\.kind|\.source)$/.test(path) || /mix.*kind/.test(path)) {
        const knob = helpFor(path, recipe);
        if (!knob?.label || knob.help.length < 20 || !/[.!]$/.test(knob.help)) silent.push(path);
      }
    };
    walk(recipe, '');
    expect(silent).toEqual([]);
  });
});
