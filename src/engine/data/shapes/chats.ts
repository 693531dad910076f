/** Conversations: OpenAI messages, ShareGPT, verl, and the chosen side of preferences. */
import type { DataRow, Turn } from '../rows.ts';
import {
  finalAnswer,
  firstOf,
  has,
  isNoAnswer,
  plainAnswer,
  type RawRecord,
  type Refusal,
  refuse,
  type Shape,
} from './fields.ts';

const isRecord = (value: unknown): value is RawRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ROLES: Readonly<Record<string, Turn['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  prompter: 'user',
  // What a tool gave back is read, not written, by the model.
  tool: 'user',
  function: 'user',
  function_response: 'user',
  observation: 'user',
  assistant: 'assistant',
  gpt: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  bot: 'assistant',
  model: 'assistant',
  function_call: 'assistant',
};

/** Text, or typed parts of which the texts count. Null where it is neither. */
function contentOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (!Array.isArray(value)) return null;
  const parts = value.map((part) => {
    if (typeof part === 'string') return part;
    if (!isRecord(part)) return null;
    const text = part.text ?? part.value ?? part.content;
    return typeof text === 'string' ? text : null;
  });
  return parts.includes(null) ? null : parts.join('');
}

function turnsOf(list: unknown, key: string): Turn[] | Refusal {
  if (!Array.isArray(list)) return refuse('wrong-type', `its "${key}" is no list of turns`);
  const turns: Turn[] = [];
  for (const [i, turn] of list.entries()) {
    if (!isRecord(turn)) return refuse('wrong-type', `turn ${i + 1} of its "${key}" is no object`);
    const name = turn.role ?? turn.from;
    const role = typeof name === 'string' ? ROLES[name.toLowerCase()] : undefined;
    if (!role)
      return refuse(
        'wrong-type',
        `turn ${i + 1} of its "${key}" has ${name === undefined ? 'no role' : `the unknown role ${JSON.stringify(name)}`}`,
      );
    const content = contentOf(turn.content ?? turn.value);
    if (content === null)
      return refuse('wrong-type', `turn ${i + 1} of its "${key}" has content that is no text`);
    if (content !== '') turns.push({ role, content });
  }
  return turns.length > 0 ? turns : refuse('empty', `its "${key}" has no turn with text`);
}

/** The last reply is what is learned; what stands before it is read. Turns behind it have no reply and go. */
function chatRow(turns: readonly Turn[], key: string, gold: string | null): DataRow | Refusal {
  const last = turns.findLastIndex(({ role }) => role === 'assistant');
  const before = last < 0 ? turns : turns.slice(0, last);
  const prompt = before.findLast(({ role }) => role === 'user')?.content ?? '';
  if (last < 0 && gold === null)
    return refuse('no-reply', `its "${key}" has no turn of the assistant, so there is nothing to learn`);
  const completion = last < 0 ? '' : turns[last].content;
  return { prompt, completion, answer: gold ?? finalAnswer(completion), turns: before };
}

/** The gold answer of verl's `reward_model.ground_truth`, or of a plain column beside the conversation. */
function goldOf(record: RawRecord): string | null {
  const rewards = record.reward_model;
  const truth = isRecord(rewards)
    ? rewards.ground_truth
    : record[firstOf(record, ['answer', 'ground_truth', 'gold', 'target']) ?? ''];
  if (typeof truth !== 'string' && typeof truth !== 'number') return null;
  return isNoAnswer(String(truth)) ? null : plainAnswer(String(truth));
}

const LISTS = ['messages', 'conversations', 'conversation', 'dialogue'] as const;

function chat(record: RawRecord, key: string, more: unknown = null): DataRow | Refusal {
  const turns = turnsOf(record[key], key);
  if (!Array.isArray(turns)) return turns;
  if (more === null) return chatRow(turns, key, goldOf(record));
  const reply = turnsOf(Array.isArray(more) ? more : [more], 'chosen');
  return Array.isArray(reply) ? chatRow([...turns, ...reply], key, null) : reply;
}

export const CHAT_SHAPES: readonly Shape[] = [
  {
    format: 'preference, chosen side',
    fits: (record) =>
      (has(record, 'chosen', 'rejected') || has(record, 'chosen_messages', 'rejected_messages')) === true,
    row(record) {
      if (has(record, 'chosen_messages')) return chat(record, 'chosen_messages');
      const list = firstOf(record, LISTS);
      if (list) return chat(record, list, record.chosen);
      const { prompt, chosen } = record;
      if (Array.isArray(prompt)) return chat(record, 'prompt', chosen);
      if (Array.isArray(chosen)) return chat(record, 'chosen');
      if (typeof chosen !== 'string') return refuse('wrong-type', 'its "chosen" is neither text nor turns');
      if (chosen.trim() === '') return refuse('empty', 'its "chosen" is empty');
      if (prompt !== undefined && typeof prompt !== 'string')
        return refuse('wrong-type', 'its "prompt" is neither text nor turns');
      return { prompt: prompt ?? '', completion: chosen, answer: finalAnswer(chosen), turns: null };
    },
  },
  {
    format: 'prompt as messages, with an answer (verl)',
    fits: ({ prompt }) => Array.isArray(prompt),
    row(record) {
      // TRL writes conversational prompts with a completion of the same kind.
      if (Array.isArray(record.completion)) return chat(record, 'prompt', record.completion);
      return chat(record, 'prompt');
    },
  },
  {
    format: 'ShareGPT conversation',
    fits: (record) => has(record, 'conversations') || has(record, 'conversation'),
    row: (record) => chat(record, firstOf(record, LISTS)!),
  },
  {
    format: 'messages',
    fits: (record) => has(record, 'messages') || has(record, 'dialogue'),
    row: (record) => chat(record, firstOf(record, LISTS)!),
  },
];
