/**
 * Gives a model from elsewhere the six tags of Parallel-R1, and an end and a padding token where it has none:
 * embedding, untied head, configuration and both tokenizer documents grow together.
 *
 * A new row is the mean of the rows of the token's text pieces plus a little noise. Equal rows would be told apart by
 * nothing: with them 1.7 % of the replication's tags were valid, with distinct ones 67 % (parallel-r1.md, section 6).
 */
import { UserError } from '../../base/assert.ts';
import { foldKey, uniformAt } from '../../base/rng.ts';
import { loadTokenizer, tokenIds } from '../tokenizer/hf-tokenizer.ts';
import { TAGS } from '../tokenizer/tags.ts';
import { addedToken, type TokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import type { ModelConfig } from './config.ts';
import type { WeightArray } from './decoder.ts';
import { isObject } from './hf-folder.ts';

export interface TaggedModel {
  config: ModelConfig;
  weights: Map<string, WeightArray>;
  tokenizer: TokenizerDocuments;
  /** Tokens that were not there before, in the order of their ids. */
  added: string[];
  notes: string[];
}

const NEW_EOS = '<eos>';
const NEW_PAD = '<pad>';
/** Noise of a new row, as a share of the spread of its matrix. */
const NOISE = 0.1;

interface Documents {
  json: Record<string, unknown>;
  configJson: Record<string, unknown>;
}

const addedOf = (json: Record<string, unknown>): { id: number; content: string }[] =>
  Array.isArray(json.added_tokens) ? json.added_tokens : [];

const contentOf = (value: unknown): unknown => (isObject(value) ? value.content : value);

/**
 * The same model if it has everything already. The inputs are not changed: grown matrices are new ones.
 * @param seed of the noise, so that the same import gives the same rows
 * @throws UserError if the documents are no tokenizer, or its tokens do not fit the model
 */
export function addTags(
  model: { config: ModelConfig; weights: ReadonlyMap<string, WeightArray>; tokenizer: TokenizerDocuments },
  seed: number,
): TaggedModel {
  const { config } = model;
  const documents: Documents = {
    json: model.tokenizer.json as Documents['json'],
    configJson: isObject(model.tokenizer.configJson) ? model.tokenizer.configJson : {},
  };
  const ids = tokenIds(model.tokenizer.json);
  const { configJson } = documents;
  const named = (key: string) => ids.has(String(contentOf(configJson[key])));
  const special: Record<string, string> = {};
  if (!named('eos_token')) special.eos_token = NEW_EOS;
  if (!named('pad_token')) special.pad_token = NEW_PAD;
  const added = [...TAGS, ...Object.values(special)].filter((token) => !ids.has(token));
  // A tag that is an ordinary piece is found by no merge: it has to be an added token too.
  const listed = new Set(addedOf(documents.json).map(({ content }) => content));
  const unlisted = TAGS.filter((tag) => ids.has(tag) && !listed.has(tag));
  const weights = new Map(model.weights);
  const notes: string[] = [];
  if (added.length === 0 && unlisted.length === 0 && Object.keys(special).length === 0)
    return { config, weights, tokenizer: model.tokenizer, added, notes };

  const first = [...ids.values()].reduce((a, b) => Math.max(a, b), -1) + 1;
  if (first > config.vocabSize)
    throw new UserError(
      `The tokenizer has ${first} tokens, but the model has rows for ${config.vocabSize}. The files do not belong together.`,
    );
  const vocabSize = Math.max(config.vocabSize, first + added.length);
  const pieces = piecesOf(documents, added, first);
  for (const name of ['model.embed_tokens.weight', 'lm_head.weight']) {
    const weight = weights.get(name);
    if (weight) weights.set(name, grown(weight, vocabSize, pieces, first, foldKey(seed, name.length)));
  }
  const tokens = [
    ...unlisted.map((tag) => addedToken(ids.get(tag)!, tag, false)),
    ...added.map((token, i) => addedToken(first + i, token, token in invert(special))),
  ];
  if (added.length > 0)
    notes.push(
      `${added.length} tokens were added (${added.join(' ')}), each beginning as the mean of its text's pieces${vocabSize === config.vocabSize ? ', in spare rows of the embedding' : ''}. Fine-tune before you expect them to be used.`,
    );
  const spared = TAGS.filter((tag) => ids.has(tag));
  if (spared.length > 0 && spared.length < TAGS.length)
    notes.push(
      `The model had ${spared.join(' ')} already, so the tags are no neighbours: leave the learning rate of the tags at 1.`,
    );
  return {
    config: { ...config, vocabSize },
    weights,
    tokenizer: withTokens(documents, tokens, special),
    added,
    notes,
  };
}

const invert = (record: Record<string, string>) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [value, key]));

/** The ids of the old vocabulary that each new token's text is made of. */
function piecesOf(documents: Documents, added: readonly string[], end: number): number[][] {
  // Any token serves as the end here: nothing but encoding is asked for.
  const anyToken = tokenIds(documents.json).keys().next().value;
  const before = loadTokenizer(
    documents.json,
    { ...documents.configJson, eos_token: anyToken },
    { requireTags: false },
  );
  return added.map((token) => before.encode(token).filter((id) => id >= 0 && id < end));
}

/** A matrix (V, C) with rows for the new tokens. */
function grown(
  { shape, data }: WeightArray,
  vocabSize: number,
  pieces: readonly (readonly number[])[],
  first: number,
  key: number,
): WeightArray {
  const C = shape[1];
  const out = new Float32Array(vocabSize * C);
  out.set(data);
  const used = first * C;
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < used; i++) {
    sum += data[i];
    squares += data[i] * data[i];
  }
  const std = Math.sqrt(Math.max(0, squares / used - (sum / used) ** 2));
  // Uniform noise of this half-width has the standard deviation NOISE · std.
  const width = NOISE * std * Math.sqrt(3);
  pieces.forEach((rows, i) => {
    const at = (first + i) * C;
    for (let c = 0; c < C; c++) {
      let mean = 0;
      for (const row of rows) mean += data[row * C + c] / rows.length;
      out[at + c] = mean + (2 * uniformAt(key, i * C + c) - 1) * width;
    }
  });
  return { shape: [vocabSize, C], data: out };
}

function withTokens(
  { json, configJson }: Documents,
  tokens: readonly ReturnType<typeof addedToken>[],
  special: Record<string, string>,
): TokenizerDocuments {
  const decoder = isObject(configJson.added_tokens_decoder) ? configJson.added_tokens_decoder : {};
  const described = tokens.map(({ id, ...rest }) => [String(id), rest]);
  return {
    json: { ...json, added_tokens: [...addedOf(json), ...tokens].sort((a, b) => a.id - b.id) },
    configJson: {
      ...configJson,
      ...special,
      added_tokens_decoder: { ...decoder, ...Object.fromEntries(described) },
      // The paper's layout has a line break there; whoever loads the tokenizer again should inject it too.
      before_summary: '\n',
    },
  };
}
