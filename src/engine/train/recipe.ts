/**
 * Recipes: one JSON document says what a run does. Parsing, with messages for the person who wrote the file, scaling,
 * and the help texts for the forms. The knobs themselves stand in `recipe-schema.ts`.
 */
import * as v from 'valibot';
import { messageOf, UserError } from '../../base/assert.ts';
import { rewardFaults, scaleReward } from '../reward/rewards.ts';
import { type KnobHelp, type Recipe, recipeSchema, type Stage } from './recipe-schema.ts';

export type {
  DroppedDocuments,
  EvaluationSet,
  EvaluationSettings,
  GrpoStage,
  KnobHelp,
  ModelSource,
  OptimizerSettings,
  Recipe,
  RewardSettings,
  RolloutSettings,
  Schedule,
  SftStage,
  Stage,
  TaskDocuments,
  TaskProblems,
} from './recipe-schema.ts';

/** How many faults one message lists. */
const MAX_FAULTS = 5;

/** The part of a valibot schema that walking it needs. */
interface SchemaNode {
  type: string;
  key?: string;
  wrapped?: SchemaNode;
  item?: SchemaNode;
  entries?: Record<string, SchemaNode>;
  options?: readonly SchemaNode[] | readonly string[];
  default?: unknown;
  literal?: unknown;
}

/** Edits (insert, delete, replace) that turn one word into the other, letter case aside. */
export function editDistance(a: string, b: string): number {
  const from = a.toLowerCase();
  const to = b.toLowerCase();
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[to.length];
}

/** The candidate nearest to a mistyped word, or null if none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(word.length / 2)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.slice(0, 100), candidate);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

function unwrap(node: SchemaNode): SchemaNode {
  let inner = node;
  while (inner.wrapped) inner = inner.wrapped;
  return inner;
}

/** One step down: into an object's key, an array's item, or (by its discriminator's value) an option of a union. */
function descend(node: SchemaNode, key: string | number, value: unknown): SchemaNode | null {
  const inner = unwrap(node);
  if (inner.item)
    return typeof key === 'number' || /^\d+$/.test(key) ? inner.item : descend(inner.item, key, value);
  if (inner.type === 'variant') {
    const options = inner.options as readonly SchemaNode[];
    const named = (name: unknown) => options.find((option) => option.entries?.[inner.key!].literal === name);
    const has = (option: SchemaNode) => option.entries !== undefined && Object.hasOwn(option.entries, key);
    const option = named((value as Record<string, unknown> | undefined)?.[inner.key!]) ?? options.find(has);
    return option && has(option) ? descend(option, key, value) : (named(key) ?? null);
  }
  return inner.entries && Object.hasOwn(inner.entries, key) ? inner.entries[key] : null;
}

/** The schema at a path; unions are decided by the document where there is one. */
function schemaAt(path: readonly (string | number)[], document: unknown): SchemaNode | null {
  let node: SchemaNode | null = recipeSchema as unknown as SchemaNode;
  let value = document;
  for (const key of path) {
    node = descend(node, key, value);
    if (!node) return null;
    value =
      typeof value === 'object' && value !== null
        ? (value as Record<string | number, unknown>)[key]
        : undefined;
  }
  return node;
}

/** The keys that an object at this path may have. */
function keysAt(path: readonly (string | number)[], document: unknown): string[] {
  const node = schemaAt(path, document);
  let inner = node && unwrap(node);
  if (inner?.type === 'variant') {
    const value = path.reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], document);
    const kind = (value as Record<string, unknown>)[inner.key!];
    const { key, options } = inner;
    inner =
      (options as readonly SchemaNode[]).find((option) => option.entries?.[key!].literal === kind) ?? null;
  }
  return inner?.entries ? Object.keys(inner.entries) : [];
}

const show = (value: unknown): string => {
  const json = JSON.stringify(value) ?? 'undefined';
  return json.length > 60 ? `${json.slice(0, 57)}…` : json;
};

function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const key of path) text += typeof key === 'number' ? `[${key}]` : text ? `.${key}` : key;
  return text;
}

/** Says what is wrong at one place, and what would be right. */
function sentence(issue: v.BaseIssue<unknown>, document: unknown): string {
  const path = (issue.path ?? []).map((item) => item.key as string | number);
  const at = `"${pathText(path)}"`;
  const requirement = (issue as { requirement?: unknown }).requirement;
  switch (issue.type) {
    case 'strict_object':
      if (path.length && issue.expected === 'never') {
        const keys = keysAt(path.slice(0, -1), document);
        const guess = nearest(String(path[path.length - 1]), keys);
        return `${at} is not a known setting.${guess ? ` Did you mean "${guess}"?` : ` Known here: ${keys.join(', ')}.`}`;
      }
      if (path.length && issue.expected === `"${path[path.length - 1]}"`) return `${at} is missing.`;
      return `${path.length ? at : 'It'} must be an object { … }, but is ${show(issue.input)}.`;
    case 'variant':
    case 'picklist':
    case 'literal': {
      const choices = issue.expected?.replace(/[()]/g, '').split(' | ').join(', ');
      if (issue.expected === 'Object') return `${at} must be an object { … }, but is ${show(issue.input)}.`;
      if (issue.input === undefined) return `${at} is missing; it must be one of ${choices}.`;
      const guess =
        typeof issue.input === 'string'
          ? nearest(issue.input, choices?.replaceAll('"', '').split(', ') ?? [])
          : null;
      return `${at} must be ${choices?.includes(',') ? 'one of ' : ''}${choices}, but is ${show(issue.input)}.${guess ? ` Did you mean "${guess}"?` : ''}`;
    }
    case 'min_value':
    case 'max_value': {
      const node = schemaAt(path, document);
      const knob = node ? knobOf(node) : null;
      const range =
        knob?.min === undefined ? `within ${String(requirement)}` : `between ${knob.min} and ${knob.max}`;
      return `${at} must be ${range}, but is ${show(issue.input)}.`;
    }
    case 'min_length':
      return `${at} is empty; it needs at least one ${typeof issue.input === 'string' ? 'character' : 'entry'}.`;
    case 'max_length':
      return `${at} is too long; at most ${String(requirement)}.`;
    case 'integer':
      return `${at} must be a whole number, but is ${show(issue.input)}.`;
    case 'check':
      return issue.message;
    default:
      return `${at} must be a ${issue.expected}, but is ${show(issue.input)}.`;
  }
}

/** Faults that concern more than one setting. */
function crossFaults(recipe: Recipe): string[] {
  const faults: string[] = [];
  const { model } = recipe;
  if (model.source === 'scratch') {
    const headDim = model.headDim ?? model.hiddenSize / model.heads;
    if (!Number.isInteger(headDim) || headDim % 2 !== 0)
      faults.push(
        `"model.heads": hidden size ÷ heads must be an even whole number, but is ${headDim}. Change one of them or set "model.headDim".`,
      );
    if (model.heads % model.kvHeads !== 0)
      faults.push(`"model.kvHeads" (${model.kvHeads}) must divide "model.heads" (${model.heads}).`);
  }
  const seen = new Map<string, number>();
  recipe.stages.forEach((stage, i) => {
    const at = `stages[${i}]`;
    const before = seen.get(stage.name);
    if (before !== undefined)
      faults.push(
        `"${at}.name": "${stage.name}" is already the name of stages[${before}]. Give each stage its own name.`,
      );
    seen.set(stage.name, i);
    if (stage.warmupSteps > stage.steps)
      faults.push(
        `"${at}.warmupSteps" (${stage.warmupSteps}) must not exceed "${at}.steps" (${stage.steps}).`,
      );
    if (stage.promotion.kind !== 'steps' && stage.promotion.minSteps > stage.steps)
      faults.push(
        `"${at}.promotion.minSteps" (${stage.promotion.minSteps}) must not exceed "${at}.steps" (${stage.steps}).`,
      );
    if (stage.kind === 'grpo') {
      const rollouts = stage.promptsPerStep * stage.groupSize;
      if (stage.miniBatches > rollouts)
        faults.push(
          `"${at}.miniBatches" (${stage.miniBatches}) must not exceed the rollouts of a step (${rollouts}).`,
        );
      faults.push(...rewardFaults(stage.reward, `${at}.reward`));
      if (stage.splitAdvantage && stage.reward.kind !== 'sum')
        faults.push(
          `"${at}.splitAdvantage" compares the parts of a composed reward, but "${at}.reward.kind" is "${stage.reward.kind}". Set it to "sum", or take splitAdvantage out.`,
        );
    } else if (stage.data.source === 'task') {
      const { mix } = stage.data;
      if (mix.every((part) => part.weight === 0))
        faults.push(`"${at}.data.mix": every weight is 0, so nothing can be drawn.`);
      mix.forEach((part, j) => {
        if (part.kind === 'parallel' && !Object.values(part.templates).some((w) => (w ?? 0) > 0))
          faults.push(`"${at}.data.mix[${j}].templates" needs a weight above 0 for S, E, L or EL.`);
      });
    }
  });
  const names = recipe.evaluation.sets.map((set) => set.name);
  names.forEach((name, i) => {
    if (names.indexOf(name) !== i) faults.push(`"evaluation.sets[${i}].name": "${name}" is used twice.`);
    const { ks, samples, decode } = recipe.evaluation.sets[i];
    for (const k of ks)
      if (k > samples)
        faults.push(
          `"evaluation.sets[${i}].ks": ${k} of ${samples} samples cannot be drawn. Raise "samples" or lower it.`,
        );
    if (new Set(decode).size < decode.length)
      faults.push(`"evaluation.sets[${i}].decode" names a decoding twice.`);
  });
  return faults;
}

function refuse(faults: string[]): never {
  const more = faults.length > MAX_FAULTS ? [`… and ${faults.length - MAX_FAULTS} more.`] : [];
  throw new UserError(`This recipe cannot be used. ${[...faults.slice(0, MAX_FAULTS), ...more].join('\n')}`);
}

/**
 * Checks a recipe and fills in its defaults. Takes the parsed document or its JSON text. Throws a UserError that names
 * each fault by its full path.
 */
export function parseRecipe(document: unknown): Recipe {
  let parsed = document;
  if (typeof document === 'string') {
    try {
      parsed = JSON.parse(document.replace(/^\uFEFF/, ''));
    } catch (error) {
      throw new UserError(
        `This recipe is not JSON (${messageOf(error)}). A recipe is one JSON object { … }.`,
      );
    }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new UserError(`A recipe is one JSON object { … }, but this is ${show(parsed)}.`);
  const version = (parsed as Record<string, unknown>).version;
  if (typeof version === 'number' && version !== 1)
    throw new UserError(
      `This recipe has version ${version}; this page reads version 1. Use the page that wrote it.`,
    );
  const result = v.safeParse(recipeSchema, parsed);
  if (!result.success) refuse(result.issues.map((issue) => sentence(issue, parsed)));
  const faults = crossFaults(result.output);
  if (faults.length) refuse(faults);
  return result.output;
}

/** Below this scale the evaluations shrink too: a run of a few steps should not spend its time on them. */
const FULL_EVALUATION_SCALE = 0.25;
const FEWEST_PROBLEMS = 4;

/** Multiplies every step count, for a quick look or a longer run. At least one step of each stage stays. */
export function scaleRecipe(recipe: Recipe, scale: number): Recipe {
  if (!(scale > 0) || !Number.isFinite(scale))
    throw new UserError(`The scale must be a number above 0, but is ${scale}.`);
  const scaled = (steps: number) => Math.max(1, Math.round(steps * scale));
  const stages = recipe.stages.map((stage): Stage => {
    const steps = scaled(stage.steps);
    const warmupSteps = stage.warmupSteps > 0 ? Math.min(steps, scaled(stage.warmupSteps)) : 0;
    if (stage.kind === 'sft')
      return { ...stage, steps, warmupSteps, promotion: scalePromotion(stage.promotion, scaled) };
    return {
      ...stage,
      steps,
      warmupSteps,
      promotion: scalePromotion(stage.promotion, scaled),
      evaluateEvery: stage.evaluateEvery > 0 ? scaled(stage.evaluateEvery) : 0,
      reward: scaleReward(stage.reward, scaled),
    };
  });
  const shrink = Math.min(1, scale / FULL_EVALUATION_SCALE);
  const sets = recipe.evaluation.sets.map((set) => ({
    ...set,
    problems: Math.min(set.problems, Math.max(FEWEST_PROBLEMS, Math.round(set.problems * shrink))),
  }));
  return { ...recipe, stages, evaluation: { ...recipe.evaluation, sets } };
}

function scalePromotion<P extends Stage['promotion']>(promotion: P, scaled: (steps: number) => number): P {
  return promotion.kind === 'steps' ? promotion : { ...promotion, minSteps: scaled(promotion.minSteps) };
}

/** A knob's help with its hard bounds, choices and default, as a form needs them. */
export interface Knob extends KnobHelp {
  min?: number;
  max?: number;
  integer: boolean;
  options?: readonly string[];
  default?: unknown;
}

function knobOf(node: SchemaNode): Knob | null {
  const inner = unwrap(node);
  const { knob } = v.getMetadata(inner as unknown as v.GenericSchema) as { knob?: KnobHelp };
  if (!knob) return null;
  const pipe = (inner as { pipe?: readonly { type: string }[] }).pipe ?? [];
  return { ...knob, integer: pipe.some((action) => action.type === 'integer'), default: node.default };
}

/**
 * The help of the knob at a path such as `stages[2].rollout.paths`, or null if it has none. Unions are decided by the
 * recipe, or in the path by the union's kind: `stages.grpo.steps`, `model.scratch.layers`. Array indexes may be left out.
 */
export function helpFor(path: string, recipe?: unknown): Knob | null {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const node = schemaAt(
    keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key)),
    recipe,
  );
  return node && knobOf(node);
}
