/** The ways of asking in the words of the page. */
import type { AskResult } from '../../../worker/protocol.ts';
import type { Way } from '../../store/asking.ts';

export const WAY_WORDS: Readonly<Record<Way, { title: string; help: string }>> = {
  sequential: { title: 'Alone', help: 'one response, without forks' },
  parallel: { title: 'Parallel', help: 'one response that may fork into paths and join them' },
  vote: { title: 'Vote', help: 'self-consistency: the most frequent answer of several responses' },
  consensus: { title: 'Vote, early stop', help: 'a vote that ends once more than half agree' },
  fallback: { title: 'Parallel if unsure', help: 'alone first; with forks where it is not 90 % sure' },
};

export const DECIDED: Readonly<Record<AskResult['decidedBy'], string>> = {
  response: 'its own final answer',
  majority: 'the most frequent answer',
  consensus: 'enough agreed before all were done',
  confidence: 'a tie, decided by confidence',
  fallback: 'not sure alone, so the forked response answered',
};
