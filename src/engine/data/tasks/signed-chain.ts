/**
 * Signed chain sums modulo 31 (default recipe, section 1): `+20+30-11` has the answer (20 + 30 − 11) mod 31. A
 * derivation writes every term with its running total, `+20=20+30=19-11=8`. Small enough for a model of 235,000
 * parameters, and hard enough that independent derivations disagree, so that voting over paths pays.
 *
 * A noisy teacher writes the documents: a step's result is a uniform number with a probability that is higher for big
 * operands (≥ 10), and the derivation goes on from the wrong value. No document is filtered by its correctness: as in
 * the paper, the gold of a document is the teacher's own answer.
 */
import type { Rng } from '../../../base/rng.ts';
import type { Document, Problem } from '../example.ts';
import type { DocumentKind, DocumentKnobs, ProblemKnobs, StepNoise, Task } from './task.ts';

export const MODULUS = 31;
/** Operands from here on are big. */
const BIG = 10;
/** The token that announces the answer. */
const FINAL_ANSWER = 'Final Answer:';

const NUMBERS = Array.from({ length: MODULUS }, (_, value) => String(value));

interface Term {
  sign: 1 | -1;
  value: number;
}

const mod = (x: number): number => ((x % MODULUS) + MODULUS) % MODULUS;

function drawTerms(rng: Rng, { terms, bigShare }: ProblemKnobs): Term[] {
  return Array.from({ length: rng.pick(terms) }, (_, i) => {
    const sign = i === 0 || rng.next() < 0.5 ? 1 : -1;
    const big = bigShare === null ? null : rng.next() < bigShare;
    const value = big === null ? rng.int(MODULUS) : big ? BIG + rng.int(MODULUS - BIG) : rng.int(BIG);
    return { sign, value };
  });
}

const signed = ({ sign, value }: Term): string => `${sign > 0 ? '+' : '-'}${value}`;
const promptOf = (terms: readonly Term[], parallel: boolean): string =>
  terms.map(signed).join('') + (parallel ? '!' : '?');
const sumOf = (terms: readonly Term[]): number =>
  mod(terms.reduce((sum, { sign, value }) => sum + sign * value, 0));

/** One derivation by the noisy teacher. */
function derive(rng: Rng, terms: readonly Term[], knobs: DocumentKnobs): { text: string; value: number } {
  let total = 0;
  let text = '';
  for (const term of terms) {
    total = mod(total + term.sign * term.value);
    const noise = term.value < BIG ? knobs.teacherNoiseSmall : knobs.teacherNoiseBig;
    if (rng.next() < noise) total = rng.int(MODULUS);
    text += `${signed(term)}=${total}`;
  }
  return { text, value: total };
}

/** The most frequent value; ties are broken uniformly. */
function plurality(rng: Rng, values: readonly number[]): number {
  const votes = new Map<number, number>();
  for (const value of values) votes.set(value, (votes.get(value) ?? 0) + 1);
  const most = Math.max(...votes.values());
  return rng.pick([...votes.keys()].filter((value) => votes.get(value) === most));
}

const finish = (value: number): string => `${FINAL_ANSWER}${value}`;

/** `D Final Answer: v`, or with several derivations `D,D[,D]Final Answer: plurality`. */
function baseCompletion(rng: Rng, terms: readonly Term[], knobs: DocumentKnobs): string {
  const first = derive(rng, terms, knobs);
  if (rng.next() >= knobs.redoShare) return first.text + finish(first.value);
  const all = [first, ...Array.from({ length: 1 + rng.int(2) }, () => derive(rng, terms, knobs))];
  const vote = plurality(
    rng,
    all.map((one) => one.value),
  );
  return all.map((one) => one.text).join(',') + finish(vote);
}

/** A trajectory by template: S no fork, E early fork, L late fork (own derivation first), EL both. */
function parallelCompletion(rng: Rng, terms: readonly Term[], knobs: DocumentKnobs): string {
  const template = rng.weighted(knobs.templates);
  let text = '';
  let answer = 0;
  const block = (candidates: readonly number[]): void => {
    const paths = Array.from({ length: knobs.paths }, () => derive(rng, terms, knobs));
    const votes = [...candidates, ...paths.map((path) => path.value)];
    answer = plurality(rng, votes);
    text += `<Parallel>${paths.map((path) => `<Path>${path.text}</Path>`).join('')}</Parallel>`;
    text += `<Summary>${votes.join(',')}>${answer}</Summary>`;
  };
  const derivation = (): void => {
    const own = derive(rng, terms, knobs);
    text += own.text;
    answer = own.value;
  };
  switch (template) {
    case 'S':
      derivation();
      break;
    case 'E':
      block([]);
      break;
    case 'L':
      derivation();
      block([answer]);
      break;
    case 'EL':
      block([]);
      block([answer]);
      break;
    default:
      template satisfies never;
  }
  return text + finish(answer);
}

const ANSWER = new RegExp(`^(?:(?!${FINAL_ANSWER})[^])*${FINAL_ANSWER}(\\d+)$`);

export const signedChain: Task = {
  name: 'signed-chain',
  vocabulary: ['?', FINAL_ANSWER, '+', '-', '=', ',', '>', '!', ...NUMBERS],
  answerMarker: FINAL_ANSWER,
  splitPattern: `${FINAL_ANSWER}|\\d+|[+\\-=,>!?]`,

  problem(rng: Rng, knobs: ProblemKnobs, parallel: boolean): Problem {
    const terms = drawTerms(rng, knobs);
    return { prompt: promptOf(terms, parallel), answer: String(sumOf(terms)), difficulty: knobs.difficulty };
  },

  document(rng: Rng, kind: DocumentKind, knobs: DocumentKnobs): Document {
    const terms = drawTerms(rng, knobs);
    const gap = rng.next() < knobs.gapProbability && knobs.gapMax > 0 ? rng.int(knobs.gapMax) : 0;
    const completion =
      kind === 'parallel'
        ? parallelCompletion(rng, terms, knobs)
        : baseCompletion(rng, terms, kind === 'base' ? knobs : { ...knobs, redoShare: 0 });
    return { prompt: promptOf(terms, kind === 'parallel'), completion, positionGap: gap };
  },

  extractAnswer(response: string): string | null {
    const value = ANSWER.exec(response)?.[1] ?? null;
    return value !== null && Number(value) < MODULUS ? value : null;
  },

  intermediateAnswer(text: string): string | null {
    return /=(\d+)$/.exec(text)?.[1] ?? null;
  },

  stepNoise(probability: number): StepNoise {
    return { after: '=', replacements: NUMBERS, probability };
  },
};
