import { describe, expect, test } from 'vitest';
import { treeOf } from '../rollout/tree.ts';
import { TAGS } from '../tokenizer/tags.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { HACKS, spokenHacks } from './hacks.ts';

const ids = TEST_IDS;
const TAG: Record<string, number> = { P: 3, '/P': 4, '<': 5, '>': 6, S: 7, '/S': 8, e: 2 };
const task = {
  answerMarker: 'FA:',
  intermediateAnswer: (text: string) => /=(\d+)$/.exec(text)?.[1] ?? null,
};

/** Hacks of a response in which each word is a token: tags as in `TAG`, any other word its own text. */
function of(response: string, answer: string | null = null, prompt = 'q') {
  const words = [...prompt.split(' '), ...response.split(' ')];
  const all = words.map((word, i) => TAG[word] ?? 100 + i);
  const promptLength = prompt.split(' ').length;
  const decode = (list: number[]) =>
    list.map((id) => (id >= 100 ? words[id - 100] : (TAGS[id - ids.parallel] ?? ''))).join('');
  const own = all.slice(promptLength);
  const tree = treeOf(all, promptLength, ids, decode);
  const spoken = { prompt: all.slice(0, promptLength), response: own, text: decode(own), tree, answer };
  return spokenHacks(spoken, ids, task);
}

describe('what a response says', () => {
  test.each([
    ['a path announces the answer', 'P < FA: 3 > < =3 > /P S 3 /S FA: 3', '3', ['answer_in_path']],
    ['only a summary does', 'P < =3 > < =5 > /P S FA: 3 /S e', null, ['answer_only_in_summary']],
    ['the answer, then a block', '=3 FA: 3 P < =3 > < =3 > /P S 3 /S e', null, ['answer_before_block']],
    ['two answers', '=3 FA: 3 \n FA: 5 e', null, ['several_answers']],
    ['an answer that no path has', 'P < =3 > < =5 > /P S 4 /S FA: 4 e', '4', ['unsupported_answer']],
    ['a tag in letters', '=3 <Path> FA: 3 e', '3', ['spelled_tags']],
    ['a tag in letters inside a path', 'P < </Path> =3 > < =3 > /P S 3 /S FA: 3', '3', ['spelled_tags']],
  ])('%s', (_, text, answer, hacks) => {
    expect(of(text, answer)).toEqual(hacks);
  });

  test.each([
    ['a block, then the answer', 'P < =3 > < =5 > /P S 3 /S FA: 3 e', '3'],
    ['the same answer twice', '=3 FA: 3 \n FA: 3 e', '3'],
    ['a summary that says it too', 'P < =3 > < =5 > /P S FA: 3 /S FA: 3 e', '3'],
    ['no block', '=3 FA: 3 e', '3'],
    ['no answer', 'P < =3 > < =5 > /P S 3 /S e', null],
    ['stray tags are tags', '=3 > /P FA: 3 e', '3'],
    ['a derivation in front of a block', '=3 P < =3 > < =3 > /P S 3 /S FA: 3 e', '3'],
  ])('%s: nothing', (_, text, answer) => {
    expect(of(text, answer)).toEqual([]);
  });

  test('tags of the prompt are no structure of the response, but are told', () => {
    expect(of('=3 FA: 3 e', '3', 'use P < > /P')).toEqual(['tags_in_prompt']);
    expect(of('=3 FA: 3 e', '3', 'use <Parallel>')).toEqual([]);
  });
});

test('every name is there once', () => {
  expect(new Set(HACKS).size).toBe(HACKS.length);
  expect(HACKS).toHaveLength(22);
});
