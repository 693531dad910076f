/**
 * Asks a model one question: alone, with forks, by a vote, by a vote that stops early, or alone first and with forks only
 * where it is not sure. Each way says what it cost: tokens in all, and tokens that one waits for.
 *
 * Sources: Parallel-R1 (arXiv 2509.07980, section 3.1) for the forks, self-consistency (arXiv 2203.11171) for the vote,
 * adaptive consistency (arXiv 2305.11860) for the early stop. Confidence is the probability that the model gave its own
 * tokens at the sampling temperature, before any filter.
 */
import { UserError } from '../../base/assert.ts';
import { foldKey } from '../../base/rng.ts';
import { isRight, type Task } from '../data/tasks/task.ts';
import type { Decoder } from '../model/decoder.ts';
import { equivalent } from '../reward/answer-value.ts';
import { verify } from '../reward/verifier.ts';
import { type GenerateSettings, generate } from '../rollout/generate.ts';
import { costSoFar, growingTree, type TokenCost } from '../rollout/growing.ts';
import type { Rollout, RowView } from '../rollout/row.ts';
import { type RolloutTree, treeOf } from '../rollout/tree.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { type AskMode, checkAskMode } from './ask-mode.ts';
import { taskAnswer } from './judge.ts';
import { derivedAnswers, elect, leading, type Vote } from './vote.ts';

export interface AskContext {
  model: Decoder;
  tokenizer: Tokenizer;
  /** Whose answers are looked for; null reads free text, as the verifier does. */
  task: Task | null;
  /** The question, as it is asked plainly and for parallel thinking. */
  prompts: { plain: string; parallel: string };
  /** The right answer, where it is known: fills `correct`. */
  gold: string | null;
  /** `parallel` is the mode's business, the rest holds for every response. */
  settings: GenerateSettings;
  mode: AskMode;
  /** Stream of random numbers: the same key draws the same responses; modes share their sequential ones. */
  key: number;
}

export interface AskResponse {
  parallel: boolean;
  tree: RolloutTree;
  answer: string | null;
  /** Of its sampled tokens: geometric mean of their probabilities, and the least. Null where it was stopped. */
  confidence: { mean: number; least: number } | null;
  tokens: TokenCost;
  /** By itself, by its token limit, or because enough others had agreed. */
  ended: 'itself' | 'limit' | 'stopped';
}

export interface AskView {
  /** One tree a response, growing; on a GPU the first 16 of those that run now. */
  trees: RolloutTree[];
  /** So far, responses that are done included. */
  tokens: TokenCost;
  /** Of the responses that are done. */
  votes: Vote[];
}

export interface AskResult {
  answer: string | null;
  /** Null where no right answer is known. */
  correct: boolean | null;
  /** Most votes first. Of responses, or of a single response's own derivations (its trunk and its paths). */
  votes: Vote[];
  /** Share of the voters (also those without an answer) that give this answer; null where nobody votes. */
  agreement: number | null;
  decidedBy: /** The one response's own final answer. */
    | 'response'
    | 'majority'
    /** Enough agreed before all were done. */
    | 'consensus'
    /** A tie, for which the responses' confidence (or the response's own answer among the tied) decided. */
    | 'confidence'
    /** The answer alone was not sure enough, and the forked response answered. */
    | 'fallback';
  /** In the order in which they were asked. */
  responses: AskResponse[];
  /** `saved` = 1 − critical / total: what ran at the same time. */
  tokens: TokenCost & { saved: number };
}

/** Salt of the streams of forked responses. */
const FORKED = 0xf04c;

/** Yields what there is to see and returns the result. A caller that stops early must call `return()`. */
export async function* ask(context: AskContext): AsyncGenerator<AskView, AskResult> {
  const { mode, settings } = context;
  checkAskMode(mode, settings);
  const asked = new Asked(context);
  switch (mode.kind) {
    case 'sequential': {
      const [response] = yield* asked.sample({ first: 0, count: 1 });
      return asked.result(response.answer, 'response', []);
    }
    case 'parallel': {
      const [response] = yield* asked.sample({ forked: mode.paths ?? settings.paths });
      const derived = derivedAnswers(response.tree, asked.arrivesAt);
      if (mode.decide === 'model') return asked.result(response.answer, 'response', derived);
      const { answer, tied } = elect(derived, asked.same, (vote) =>
        response.answer !== null && asked.same(vote.answer, response.answer) ? 1 : 0,
      );
      if (answer === null) return asked.result(response.answer, 'response', derived);
      return asked.result(answer, tied ? 'confidence' : 'majority', derived);
    }
    case 'vote':
      yield* asked.sample({ first: 0, count: mode.votes });
      return asked.elected();
    case 'consensus': {
      const agree = mode.agree ?? Math.floor(mode.votes / 2) + 1;
      const width = Math.min(mode.width, mode.votes);
      for (let first = 0; first < mode.votes; first += width) {
        yield* asked.sample({ first, count: Math.min(width, mode.votes - first), agree });
        const [most] = asked.votes();
        const early = asked.answers().length < mode.votes;
        if (early && most && most.count >= agree)
          return asked.result(most.answer, 'consensus', asked.answers());
      }
      return asked.elected();
    }
    case 'fallback': {
      const [alone] = yield* asked.sample({ first: 0, count: 1 });
      const sure = alone.confidence?.[mode.measure] ?? 0;
      if (alone.answer !== null && sure >= mode.confidence) return asked.result(alone.answer, 'response', []);
      const [forked] = yield* asked.sample({ forked: settings.paths });
      // A forked response without an answer leaves the doubtful one.
      if (forked.answer === null) return asked.result(alone.answer, 'response', asked.answers());
      return asked.result(forked.answer, 'fallback', asked.answers());
    }
    default:
      return mode satisfies never;
  }
}

type Sample =
  /** Sequential responses by number; `agree` equal answers stop those that are still written. */
  | { first: number; count: number; agree?: number; forked?: undefined }
  /** One response with so many paths a block. */
  | { forked: number };

/** The responses so far, and how their answers are read. */
class Asked {
  private readonly responses: AskResponse[] = [];
  private readonly spent: TokenCost = { total: 0, critical: 0 };

  constructor(private readonly context: AskContext) {}

  readonly same = (a: string, b: string): boolean => (this.context.task ? a === b : equivalent(a, b));

  /** What a path or a stretch of trunk arrives at. */
  readonly arrivesAt = (text: string): string | null =>
    this.context.task ? this.context.task.intermediateAnswer(text) : freeAnswer(text);

  answers(): (string | null)[] {
    return this.responses.flatMap(({ ended, answer }) => (ended === 'stopped' ? [] : [answer]));
  }

  votes(): Vote[] {
    return leading(this.answers(), this.same);
  }

  async *sample(what: Sample): AsyncGenerator<AskView, AskResponse[]> {
    const { model, tokenizer } = this.context;
    const forked = what.forked !== undefined;
    const settings = { ...this.context.settings, parallel: forked };
    if (what.forked !== undefined) settings.paths = what.forked;
    const prompt = this.prompt(forked);
    const requests = forked
      ? [{ prompt, key: foldKey(this.context.key, FORKED) }]
      : Array.from({ length: what.count }, (_, i) => ({
          prompt,
          key: foldKey(this.context.key, what.first + i),
        }));
    const rows = generate(model, requests, settings, tokenizer.special);
    const took: AskResponse[] = [];
    try {
      for (;;) {
        const next = await rows.next();
        if (next.done) {
          took.push(...next.value.map((rollout) => this.finished(rollout, forked)));
          break;
        }
        const view = this.view(next.value);
        yield view;
        const open = next.value.some((row) => !row.done);
        if (!forked && what.agree && open && (view.votes[0]?.count ?? 0) >= what.agree) {
          took.push(...next.value.map((row) => this.cut(row)));
          break;
        }
      }
    } finally {
      await rows.return([]);
    }
    this.responses.push(...took);
    const cost = together(took.map(({ tokens }) => tokens));
    this.spent.total += cost.total;
    this.spent.critical += cost.critical;
    return took;
  }

  private prompt(forked: boolean): number[] {
    const { tokenizer, prompts } = this.context;
    const ids = tokenizer.special;
    const text = forked ? prompts.parallel : prompts.plain;
    const tokens = tokenizer.encode(text);
    if (tokens.length === 0) throw new UserError('There is no question to ask. Write one first.');
    if (ids.pad >= 0 && tokens.includes(ids.pad))
      throw new UserError(
        `This model has no tokens for a part of ${JSON.stringify(text)}: it would read ${JSON.stringify(tokenizer.decode(tokens))}. ` +
          'Write the question with the signs and numbers that it was trained on.',
      );
    return [...(ids.bos >= 0 ? [ids.bos] : []), ...tokens];
  }

  private view(rows: readonly RowView[]): AskView {
    const now = together(rows.map(costSoFar));
    const done = rows.filter((row) => row.done).map((row) => this.answerOf(responseOf(row)));
    return {
      trees: rows
        .filter((row) => row.tokens.length > 0)
        .map((row) => growingTree(row, this.context.tokenizer)),
      tokens: { total: this.spent.total + now.total, critical: this.spent.critical + now.critical },
      votes: leading([...this.answers(), ...done], this.same),
    };
  }

  private answerOf(response: ArrayLike<number>): string | null {
    const { task, tokenizer } = this.context;
    if (task) return taskAnswer(response, tokenizer, task);
    const ended = response[response.length - 1] === tokenizer.special.eos;
    return ended ? freeAnswer(tokenizer.decode(response)) : null;
  }

  private finished(rollout: Rollout, parallel: boolean): AskResponse {
    const { tokenizer } = this.context;
    const { tokens, promptLength, sampled, logp, truncated, critical } = rollout;
    const own = Array.from(logp).filter((_, i) => sampled[i]);
    const response = tokens.subarray(promptLength);
    return {
      parallel,
      tree: treeOf(tokens, promptLength, tokenizer.special, (ids) => tokenizer.decode(ids)),
      answer: truncated ? null : this.answerOf(response),
      confidence: own.length > 0 ? confidenceOf(own) : null,
      tokens: { total: response.length, critical },
      ended: truncated ? 'limit' : 'itself',
    };
  }

  /** A sequential response as it stands when the others have agreed. */
  private cut(row: RowView): AskResponse {
    const response = responseOf(row);
    const ended = response[response.length - 1] === this.context.tokenizer.special.eos;
    return {
      parallel: false,
      tree: growingTree(row, this.context.tokenizer),
      answer: row.done ? this.answerOf(response) : null,
      confidence: null,
      tokens: costSoFar(row),
      ended: !row.done ? 'stopped' : ended ? 'itself' : 'limit',
    };
  }

  /** The responses' majority; a tie goes to the answer whose responses were surer of it. */
  elected(): AskResult {
    const voters = this.responses.filter(({ ended }) => ended !== 'stopped');
    const { answer, tied } = elect(this.answers(), this.same, ({ by }) => {
      const sure = by.map((i) => voters[i].confidence?.mean ?? 0);
      return sure.reduce((a, b) => a + b, 0) / sure.length;
    });
    return this.result(answer, tied ? 'confidence' : 'majority', this.answers());
  }

  result(
    answer: string | null,
    decidedBy: AskResult['decidedBy'],
    ballot: readonly (string | null)[],
  ): AskResult {
    const { total, critical } = this.spent;
    const votes = leading(ballot, this.same);
    const own = answer === null ? 0 : (votes.find((vote) => this.same(vote.answer, answer))?.count ?? 0);
    return {
      answer,
      correct: this.correct(answer),
      votes,
      agreement: ballot.length > 0 ? own / ballot.length : null,
      decidedBy,
      responses: this.responses,
      tokens: { total, critical, saved: total > 0 ? 1 - critical / total : 0 },
    };
  }

  private correct(answer: string | null): boolean | null {
    const { task, gold, prompts } = this.context;
    if (gold === null) return null;
    if (task) return isRight(task, { prompt: prompts.plain, answer: gold, difficulty: '' }, answer);
    return answer !== null && equivalent(answer, gold);
  }
}

/** Tokens behind the prompt, in the order of slots: text order where nothing forks. */
const responseOf = (row: RowView): number[] => Array.from(row.tokens).slice(row.prompt.length);

/** The one final answer of free text, or null: none, or several that differ. */
function freeAnswer(text: string): string | null {
  // What it is compared with plays no part in which answer is found.
  const { extracted, reason } = verify(text, '0');
  return reason === 'equal' || reason === 'different' ? extracted : null;
}

function confidenceOf(logps: readonly number[]): { mean: number; least: number } {
  const sum = logps.reduce((a, b) => a + b, 0);
  return { mean: Math.exp(sum / logps.length), least: Math.exp(Math.min(...logps)) };
}

/** Cost of what runs at the same time. */
function together(costs: readonly TokenCost[]): TokenCost {
  return {
    total: costs.reduce((sum, { total }) => sum + total, 0),
    critical: Math.max(0, ...costs.map(({ critical }) => critical)),
  };
}
