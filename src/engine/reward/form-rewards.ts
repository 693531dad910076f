/**
 * Rewards for the form of a response: how different its paths are, how much of the work ran at once, whether it checks
 * itself, whether it rambles. They are small additions to a main reward. What pays for form is multiplied by
 * `wrongShare` on a wrong answer, 0 unless the recipe says otherwise: a bonus for short or parallel text that is not
 * gated on correctness ends in five-token answers (reference note, section 6, fault 8). A response whose format is
 * broken earns none of it, or empty paths would be the most diverse ones.
 */
import type { RolloutTree, Segment } from '../rollout/tree.ts';
import type { Behaviour, BlockBehaviour } from './behaviour.ts';
import { wordsOf } from './self-bleu.ts';

/** Share of the value that a wrong answer is still paid. */
interface Gated {
  wrongShare: number;
}

export type FormReward =
  /** 1 with a valid block, else 0 ("±1 + 0.5 if parallel" is wrongShare 1; with a decay, the annealed bonus of PARL). */
  | ({ kind: 'block' } & Gated)
  /** 1 − self-BLEU of the paths, mean over blocks ("1.2 − 0.2 · self-BLEU" is accuracy + 0.2 · diversity). */
  | ({ kind: 'diversity' } & Gated)
  /**
   * 1 − critical / total tokens, or with a budget 1 − critical / budget and at least 0; at most `cap` (ThreadWeaver,
   * min(0.5 · saved, 0.2), is weight 0.5 with cap 0.4; the paper's tried one is weight 0.4 with wrongShare 0.25).
   */
  | ({ kind: 'efficiency'; budget: number | null; cap: number } & Gated)
  /** Verification steps ÷ wanted, at most 1. */
  | ({ kind: 'verification'; wanted: number } & Gated)
  /** Share of checks that the paths pass: length, an answer of their own, no word about other paths. */
  | ({ kind: 'clarity'; minTokens: number; maxTokens: number } & Gated)
  /** DAPO's soft punishment of length; null = the response limit of the rollout. */
  | { kind: 'overlong'; limit: number | null; margin: number }
  /** Minus the share of n-grams that were there before in the same stretch of text. */
  | { kind: 'repetition'; ngram: number };

export interface FormFacts {
  correct: boolean;
  validBlocks: number;
  formatValid: boolean;
  tree: RolloutTree;
  behaviour: Pick<Behaviour, 'length' | 'selfBleu' | 'perBlock'>;
  /** Response tokens on the longest chain. */
  critical: number;
  /** Response limit of the rollout in tokens. */
  maxTokens: number;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Value of one part, before its weight; null where it does not apply (no block to be diverse in). */
export function formReward(settings: FormReward, facts: FormFacts): number | null {
  const { tree, behaviour } = facts;
  const gated = (value: number, { wrongShare }: Gated) =>
    facts.formatValid ? value * (facts.correct ? 1 : wrongShare) : 0;
  switch (settings.kind) {
    case 'block':
      return gated(facts.validBlocks > 0 ? 1 : 0, settings);
    case 'diversity':
      return behaviour.selfBleu === null ? null : gated(1 - behaviour.selfBleu, settings);
    case 'efficiency': {
      const of = settings.budget ?? behaviour.length;
      const saved = of > 0 ? Math.max(0, 1 - facts.critical / of) : 0;
      return gated(Math.min(settings.cap, saved), settings);
    }
    case 'verification':
      return gated(Math.min(1, verificationSteps(facts) / settings.wanted), settings);
    case 'clarity': {
      const paths = tree.segments.filter(({ kind }) => kind === 'path');
      const clear = (path: Segment) => clarity(path, answerOf(path, behaviour.perBlock), settings);
      return paths.length === 0 ? null : gated(mean(paths.map(clear)), settings);
    }
    case 'overlong':
      return overlong(behaviour.length, settings.limit ?? facts.maxTokens, settings.margin);
    case 'repetition':
      return repetition(tree, settings.ngram);
    default:
      return settings satisfies never;
  }
}

/** A sentence that says it checks: counted at most once a stretch, so that repeating the word pays nothing. */
const CHECKS =
  /\b(?:verif(?:y|ying|ies|ied)|double[- ]check(?:ing)?|check(?:ing)? (?:that|this|the|our|my|it)|(?:plug(?:ging)?|substitut(?:e|ing)) (?:it |this )?back|to confirm)\b/i;

/** Blocks that open after the response had an answer, and stretches of trunk or summary that say they check. */
function verificationSteps({ tree, behaviour }: FormFacts): number {
  const spoken = tree.segments.filter(({ kind, text }) => kind !== 'path' && CHECKS.test(text));
  return behaviour.perBlock.filter((block) => block.verifies).length + spoken.length;
}

/** What the prompt forbids: a path that speaks of the others. */
const CROSS_REFERENCE =
  /\b(?:other|previous|earlier|first|second|third|next) (?:path|approach|method|thread)s?\b|\bpath\s*#?\s*\d/i;

const answerOf = ({ block, path }: Segment, perBlock: readonly BlockBehaviour[]): string | null =>
  perBlock[block - 1].answers[path - 1];

function clarity(
  path: Segment,
  answer: string | null,
  { minTokens, maxTokens }: { minTokens: number; maxTokens: number },
): number {
  const checks = [
    path.tokens >= minTokens && path.tokens <= maxTokens,
    answer !== null,
    !CROSS_REFERENCE.test(path.text),
  ];
  return mean(checks.map(Number));
}

/**
 * Soft overlong punishment (DAPO, arXiv 2503.14476, equation 13): 0 up to limit − margin, falling in a line to −1 at the
 * limit. Lengths in tokens.
 */
export function overlong(length: number, limit: number, margin: number): number {
  const free = limit - margin;
  if (length <= free) return 0;
  return length >= limit ? -1 : (free - length) / margin;
}

/**
 * −(1 − distinct / all n-grams of words), counted within each stretch of trunk, path and summary: a path that derives
 * again what the trunk derived is no repetition but the point. null where no stretch holds n words.
 */
function repetition(tree: RolloutTree, n: number): number | null {
  let all = 0;
  let distinct = 0;
  for (const { text } of tree.segments) {
    const words = wordsOf(text);
    const grams = Array.from({ length: Math.max(0, words.length - n + 1) }, (_, i) =>
      words.slice(i, i + n).join(' '),
    );
    all += grams.length;
    distinct += new Set(grams).size;
  }
  return all === 0 ? null : distinct / all - 1;
}
