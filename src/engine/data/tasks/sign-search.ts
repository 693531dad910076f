/**
 * Sign search modulo 31 (default recipe, section 7): `+20+11+3=12?` asks for signs that make the numbers add up to the
 * target, here +20-11+3 = 12. The first sign is always +. Numbers and target are given, so nothing but trying helps,
 * and an attempt verifies itself: it is the running totals of signed-chain and a verdict, `+20=20+11=0+3=3?` for a
 * miss, `+20=20-11=9+3=12!` for a hit. A single thread cannot sharpen to 1, since it would have to know the signs
 * before it tries them; k attempts side by side hit 1 − (1 − p)^k of the time at the depth of one (APR's finding).
 *
 * A problem may have several right answers, so `solves` checks the answer against the prompt. Tokens are those of
 * signed-chain: a model that can already add serves both.
 *
 * The teacher tries signs at random, never twice the same where it can see its earlier attempts, and errs in a step as
 * the teacher of signed-chain does. It answers with its first hit, or without one with its last attempt: as in the
 * paper, no document is filtered by its correctness.
 */
import type { Rng } from '../../../base/rng.ts';
import type { Document, Problem } from '../example.ts';
import { MODULUS, signedChain } from './signed-chain.ts';
import type { DocumentKind, DocumentKnobs, ProblemKnobs, Task } from './task.ts';

/** What announces the answer. */
const MARKER = signedChain.answerMarker;
/** Operands from here on are big, as in signed-chain. */
const BIG = 10;
/** Redraws before a combination that was tried is tried again: few numbers have few combinations. */
const REDRAWS = 20;

interface Search {
  numbers: readonly number[];
  target: number;
}

/** Signs written with their numbers, as the answer gives them, and what they led to. */
interface Attempt {
  /** Terms with running totals, and the verdict. */
  text: string;
  terms: string;
  hit: boolean;
}

const mod = (x: number): number => ((x % MODULUS) + MODULUS) % MODULUS;

function drawSigns(rng: Rng, count: number): (1 | -1)[] {
  return Array.from({ length: count }, (_, i) => (i === 0 || rng.next() < 0.5 ? 1 : -1));
}

/** Numbers, and the total that random signs give them: there is always a solution. */
function drawSearch(rng: Rng, { terms, bigShare }: ProblemKnobs): Search & { solution: string } {
  const numbers = Array.from({ length: rng.pick(terms) }, () => {
    const big = bigShare === null ? null : rng.next() < bigShare;
    return big === null ? rng.int(MODULUS) : big ? BIG + rng.int(MODULUS - BIG) : rng.int(BIG);
  });
  const signs = drawSigns(rng, numbers.length);
  const target = mod(numbers.reduce((sum, value, i) => sum + signs[i] * value, 0));
  return { numbers, target, solution: signedText(numbers, signs) };
}

const signedText = (numbers: readonly number[], signs: readonly number[]): string =>
  numbers.map((value, i) => `${signs[i] > 0 ? '+' : '-'}${value}`).join('');
/** Numbers with a plus each: a model that can copy the terms of a chain sum copies these too. */
const promptOf = ({ numbers, target }: Search, parallel: boolean): string =>
  `${signedText(
    numbers,
    numbers.map(() => 1),
  )}=${target}${parallel ? '!' : '?'}`;

/** One attempt by the noisy teacher, with signs that are not among those tried before. */
function attempt(rng: Rng, search: Search, knobs: DocumentKnobs, tried: readonly Attempt[]): Attempt {
  const { numbers, target } = search;
  const isNew = (signs: readonly number[]) =>
    tried.every(({ terms }) => terms !== signedText(numbers, signs));
  let signs = drawSigns(rng, numbers.length);
  for (let tries = 0; !isNew(signs) && tries < REDRAWS; tries++) signs = drawSigns(rng, numbers.length);
  let total = 0;
  let text = '';
  numbers.forEach((value, i) => {
    total = mod(total + signs[i] * value);
    if (rng.next() < (value < BIG ? knobs.teacherNoiseSmall : knobs.teacherNoiseBig))
      total = rng.int(MODULUS);
    text += `${signs[i] > 0 ? '+' : '-'}${value}=${total}`;
  });
  const hit = total === target;
  return { text: text + (hit ? '!' : '?'), terms: signedText(numbers, signs), hit };
}

/** The terms of the first hit, or of the last attempt where there is none. */
const chosen = (attempts: readonly Attempt[]): string =>
  (attempts.find(({ hit }) => hit) ?? attempts[attempts.length - 1]).terms;

const finish = (attempts: readonly Attempt[]): string => MARKER + chosen(attempts);

/** `A Final Answer:terms`, or with repeated attempts `A,A[,A]Final Answer:terms` until one hits. */
function baseCompletion(rng: Rng, search: Search, knobs: DocumentKnobs): string {
  const attempts = [attempt(rng, search, knobs, [])];
  const most = rng.next() < knobs.redoShare ? knobs.attempts : 1;
  while (attempts.length < most && !attempts[attempts.length - 1].hit)
    attempts.push(attempt(rng, search, knobs, attempts));
  return attempts.map(({ text }) => text).join(',') + finish(attempts);
}

/**
 * S one attempt; E attempts side by side, and where blocks may follow each other, again until one hits; L an attempt, then
 * others side by side; EL two blocks.
 */
function parallelCompletion(rng: Rng, search: Search, knobs: DocumentKnobs): string {
  const template = rng.weighted(knobs.templates);
  const attempts: Attempt[] = [];
  let text = '';
  const alone = (): void => {
    attempts.push(attempt(rng, search, knobs, attempts));
    text += attempts[0].text;
  };
  // Paths see what came before the block, not each other.
  const block = (): void => {
    const paths = Array.from({ length: knobs.paths }, () => attempt(rng, search, knobs, attempts));
    attempts.push(...paths);
    text += `<Parallel>${paths.map((path) => `<Path>${path.text}</Path>`).join('')}</Parallel>`;
    const hit = attempts.some((one) => one.hit);
    // Where a block may follow, the summary says whether one must: the verdict alone costs one token.
    const summary = knobs.blocks === 1 ? chosen(attempts) : hit ? `${chosen(attempts)}!` : '?';
    text += `<Summary>${summary}</Summary>`;
  };
  if (template === 'S' || template === 'L') alone();
  if (template !== 'S') block();
  if (template === 'EL') block();
  if (template === 'E')
    for (let more = knobs.blocks - 1; more > 0 && !attempts.some(({ hit }) => hit); more--) block();
  return text + finish(attempts);
}

const ANSWER = new RegExp(`^(?:(?!${MARKER})[^])*${MARKER}((?:[+-]\\d+)+)$`);
/** An attempt that says of itself that it hits, at the end of a text. */
const HIT = /((?:[+-]\d+=\d+)+)!$/;

export const signSearch: Task = {
  name: 'sign-search',
  vocabulary: signedChain.vocabulary,
  answerMarker: MARKER,
  splitPattern: signedChain.splitPattern,

  problem(rng: Rng, knobs: ProblemKnobs, parallel: boolean): Problem {
    const search = drawSearch(rng, knobs);
    return { prompt: promptOf(search, parallel), answer: search.solution, difficulty: knobs.difficulty };
  },

  document(rng: Rng, kind: DocumentKind, knobs: DocumentKnobs): Document {
    const search = drawSearch(rng, knobs);
    const gap = rng.next() < knobs.gapProbability && knobs.gapMax > 0 ? rng.int(knobs.gapMax) : 0;
    const completion =
      kind === 'parallel'
        ? parallelCompletion(rng, search, knobs)
        : baseCompletion(rng, search, kind === 'base' ? knobs : { ...knobs, redoShare: 0 });
    return { prompt: promptOf(search, kind === 'parallel'), completion, positionGap: gap };
  },

  solves({ prompt }: Pick<Problem, 'prompt'>, answer: string): boolean {
    const asked = /^((?:\+\d+)+)=(\d+)[?!]$/.exec(prompt);
    if (!asked || !/^\+\d+([+-]\d+)*$/.test(answer)) return false;
    const terms = answer.match(/[+-]\d+/g) ?? [];
    const sum = terms.reduce((total, term) => total + Number(term), 0);
    return terms.map((term) => `+${term.slice(1)}`).join('') === asked[1] && mod(sum) === Number(asked[2]);
  },

  extractAnswer(response: string): string | null {
    return ANSWER.exec(response)?.[1] ?? null;
  },

  /** The signs of an attempt that calls itself a hit. A miss arrives at nothing, so a fork after it still explores. */
  intermediateAnswer(text: string): string | null {
    return HIT.exec(text)?.[1].replace(/=\d+/g, '') ?? null;
  },

  stepNoise: signedChain.stepNoise,
};
