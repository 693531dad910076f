/**
 * Rewards of Parallel-R1 (section 3.4; reference note, section 4), alone or summed with weights. Parts that look at the
 * form of a response (diversity, efficiency, …) stand in `form-rewards.ts`, those that a person wrote in `custom.ts`.
 *
 * Main and auxiliary parts are summed apart, for split advantages: zscore(main) + (auxiliary − its mean) lets a small
 * auxiliary part break no tie that the answer decides (reference note, section 6, fault 8).
 */
import { codeFault } from './custom.ts';
import { type FormFacts, type FormReward, formReward } from './form-rewards.ts';

/** Most steps of a window pay accuracy, the last `bonusSteps` of it pay tiers. */
interface Window {
  window: number;
  bonusSteps: number;
  bonus: number;
}

/** Rewards that decide right or wrong. */
export type MainReward =
  /** +1 if the answer is right, else −1 (schedule S1). */
  | { kind: 'accuracy' }
  /** +1 iff the answer is right and there is at least one valid parallel block (RL on easy problems), else −1. */
  | { kind: 'easy' }
  /** The same rule under a name of its own: the ablation that pays it on every step of the hard stage too. */
  | { kind: 'parallel' }
  /** Schedule S2. */
  | ({ kind: 'alternating' } & Window)
  /** `before` up to and with step `until`, then accuracy (the paper's Figure 4: alternating until 200). */
  | ({ kind: 'scaffold'; until: number; before: 'alternating' | 'parallel' } & Window);

/** A function body in JavaScript; its value comes from a sandbox, after the other parts. */
export interface CustomReward {
  kind: 'custom';
  code: string;
  timeLimitMs: number;
}

export type RewardPart = (MainReward | FormReward | CustomReward) & {
  weight: number;
  /** Counts towards `auxiliary` instead of `main`. */
  auxiliary: boolean;
  /** The weight falls as exp(−step / decaySteps); null = it stays. */
  decaySteps: number | null;
};

export type RewardSettings = MainReward | { kind: 'sum'; parts: readonly RewardPart[] };

/** `rewards/<name>` in metrics and logs. */
export type RewardName = RewardPart['kind'];

export interface RewardFacts extends FormFacts {
  /** Parallel blocks of any kind; whole ones are `validBlocks`. */
  blocks: number;
}

export interface Reward {
  /** Main and auxiliary together: what plain GRPO compares. */
  reward: number;
  main: number;
  auxiliary: number;
  /** Value of each part before its weight, by name; a part that does not apply to this response is left out. */
  parts: Record<string, number>;
}

/**
 * @param step 1-based step of the stage, for rewards with a schedule
 * @returns the reward without its custom part, which `addPart` adds
 */
export function reward(settings: RewardSettings, facts: RewardFacts, step: number): Reward {
  if (settings.kind !== 'sum') {
    const value = mainReward(settings, facts, step);
    return { reward: value, main: value, auxiliary: 0, parts: { [settings.kind]: value } };
  }
  let sum: Reward = { reward: 0, main: 0, auxiliary: 0, parts: {} };
  for (const part of settings.parts) {
    if (part.kind === 'custom') continue;
    sum = addPart(sum, part, isMain(part) ? mainReward(part, facts, step) : formReward(part, facts), step);
  }
  return sum;
}

/** Adds weight · value, or nothing where the part does not apply (null). */
export function addPart(to: Reward, part: RewardPart, value: number | null, step: number): Reward {
  if (value === null) return to;
  const decay = part.decaySteps === null ? 1 : Math.exp(-step / part.decaySteps);
  const paid = part.weight * decay * value;
  return {
    reward: to.reward + paid,
    main: to.main + (part.auxiliary ? 0 : paid),
    auxiliary: to.auxiliary + (part.auxiliary ? paid : 0),
    parts: { ...to.parts, [part.kind]: value },
  };
}

/** The names under which a reward logs its parts. */
export const partNames = (settings: RewardSettings): RewardName[] =>
  settings.kind === 'sum' ? settings.parts.map((part) => part.kind) : [settings.kind];

export const customPart = (settings: RewardSettings): (RewardPart & CustomReward) | null =>
  settings.kind === 'sum'
    ? (settings.parts.find((part): part is RewardPart & CustomReward => part.kind === 'custom') ?? null)
    : null;

const MAIN: ReadonlySet<string> = new Set<MainReward['kind']>([
  'accuracy',
  'easy',
  'parallel',
  'alternating',
  'scaffold',
]);
const isMain = (part: MainReward | FormReward): part is MainReward => MAIN.has(part.kind);

function mainReward(settings: MainReward, facts: RewardFacts, step: number): number {
  const { correct, validBlocks, formatValid } = facts;
  const accuracy = correct ? 1 : -1;
  const parallel = correct && validBlocks > 0 && formatValid ? 1 : -1;
  switch (settings.kind) {
    case 'accuracy':
      return accuracy;
    case 'easy':
    case 'parallel':
      return parallel;
    case 'alternating':
      return alternating(settings, facts, step);
    case 'scaffold':
      if (step > settings.until) return accuracy;
      return settings.before === 'parallel' ? parallel : alternating(settings, facts, step);
    default:
      return settings satisfies never;
  }
}

/**
 * With W = window, steps with (step − 1) mod W < W − bonusSteps pay ±1 accuracy; the others pay 1 for a right answer
 * without a block, `bonus` for a right answer with valid blocks, and −1 for everything else (a right answer in a broken
 * format too).
 */
function alternating({ window, bonusSteps, bonus }: Window, facts: RewardFacts, step: number): number {
  const { correct, blocks, validBlocks, formatValid } = facts;
  if ((step - 1) % window < window - bonusSteps) return correct ? 1 : -1;
  if (correct && blocks === 0 && formatValid) return 1;
  return correct && validBlocks > 0 && formatValid ? bonus : -1;
}

/** What is wrong with a reward beyond the range of its single settings. @param at its path in the recipe */
export function rewardFaults(settings: RewardSettings, at: string): string[] {
  if (settings.kind !== 'sum') return windowFaults(settings, at);
  const { parts } = settings;
  const faults = parts.flatMap((part, i) => {
    const own = `${at}.parts[${i}]`;
    const found = isMainPart(part) ? windowFaults(part, own) : [];
    const first = parts.findIndex((other) => other.kind === part.kind);
    if (first < i)
      found.push(
        `"${own}.kind": "${part.kind}" already stands in parts[${first}]. Name each part once; its weight says how much it counts.`,
      );
    if (part.kind === 'clarity' && part.minTokens > part.maxTokens)
      found.push(`"${own}.minTokens" must not exceed "${own}.maxTokens".`);
    const fault = part.kind === 'custom' ? codeFault(part.code) : null;
    if (fault) found.push(`"${own}.code" ${fault}`);
    return found;
  });
  if (!parts.some((part) => !part.auxiliary && part.weight !== 0))
    faults.push(
      `"${at}.parts" has only auxiliary parts, so nothing says what a right answer is worth. Add {"kind": "accuracy"}, or set "auxiliary": false and a weight on one of them.`,
    );
  return faults;
}

const isMainPart = (part: RewardPart): part is RewardPart & MainReward => MAIN.has(part.kind);

function windowFaults(settings: MainReward, at: string): string[] {
  const bad =
    (settings.kind === 'alternating' || settings.kind === 'scaffold') &&
    settings.bonusSteps > settings.window;
  return bad ? [`"${at}.bonusSteps" must not exceed "${at}.window".`] : [];
}

/** The same reward with its step counts (the switch of a scaffold, decays) scaled, for a shortened run. */
export function scaleReward<R extends RewardSettings>(settings: R, scaled: (steps: number) => number): R {
  const part = <P extends RewardSettings | RewardPart>(one: P): P => ({
    ...one,
    ...(one.kind === 'scaffold' && { until: scaled(one.until) }),
    ...('decaySteps' in one && one.decaySteps !== null && { decaySteps: scaled(one.decaySteps) }),
  });
  return settings.kind === 'sum' ? { ...settings, parts: settings.parts.map(part) } : part(settings);
}
