/** From files of any model to one that a run can start from, with the sentence that the page shows. */
import { UserError } from '../base/assert.ts';
import { addTags } from '../engine/model/add-tags.ts';
import type { NamedBlob, ReadOptions } from '../engine/model/blobs.ts';
import { parameterCount } from '../engine/model/config.ts';
import { type ImportedModel, importModel } from '../engine/model/import.ts';
import { loadTokenizer } from '../engine/tokenizer/hf-tokenizer.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import type { ModelReport } from './protocol.ts';

/** Of the noise in new rows: the same files give the same model. */
const TAG_SEED = 1;

export interface ModelOrigin {
  source: ModelReport['source'];
  /** `owner/name` or the file's name. */
  name: string;
}

/** @returns the model, or null if it has no tokenizer; throws a UserError for files that are no model */
export async function loadModelFiles(
  files: readonly NamedBlob[],
  origin: ModelOrigin,
  options: ReadOptions = {},
): Promise<{ model: LoadedModel | null; report: ModelReport }> {
  const imported = await importModel(files, options);
  const facts = {
    ...origin,
    format: imported.format,
    architecture: imported.config.architecture,
    parameters: parameterCount(imported.config),
    vocabulary: imported.config.vocabSize,
    layers: imported.config.layers,
    bytes: imported.bytes,
    chatTemplate: imported.chatTemplate !== null,
    tagsAdded: [] as string[],
  };
  const size = `${facts.architecture}, ${facts.parameters.toLocaleString('en')} parameters`;
  if (!imported.tokenizer) {
    const message = `The model is whole (${size}), but no tokenizer came with it, which a run needs. Drop ${tokenizerFile(imported)} together with the other files.`;
    return { model: null, report: { ...facts, usable: false, notes: imported.notes, message } };
  }
  const { config, weights, tokenizer, added, notes } = addTags(
    { config: imported.config, weights: imported.weights, tokenizer: withTemplate(imported) },
    TAG_SEED,
  );
  const model = { config, weights, tokenizer: loadTokenizer(tokenizer.json, tokenizer.configJson) };
  const all = [...imported.notes, ...notes];
  const start =
    origin.source === 'dropped'
      ? 'Recipes with "model": {"source": "dropped"} start from it.'
      : `Recipes with "model": {"source": "hub", "name": "${origin.name}"} start from it.`;
  const message = ['Model loaded: ', `${size}. `, ...all.map((note) => `${note} `), start].join('');
  const report = {
    ...facts,
    parameters: parameterCount(config),
    vocabulary: config.vocabSize,
    tagsAdded: added,
    usable: true,
    notes: all,
    message,
  };
  return { model, report };
}

/** As `loadModelFiles`, for a run that must have the model. */
export async function requireModel(
  files: readonly NamedBlob[],
  origin: ModelOrigin,
  options: ReadOptions = {},
): Promise<LoadedModel> {
  const { model, report } = await loadModelFiles(files, origin, options);
  if (!model) throw new UserError(report.message);
  return model;
}

const tokenizerFile = ({ format }: ImportedModel) =>
  format === 'llama2c' ? 'its tokenizer .bin' : 'its tokenizer.json';

/** The chat template travels in tokenizer_config.json, wherever it came from. */
function withTemplate({ tokenizer, chatTemplate }: ImportedModel) {
  const { json, configJson } = tokenizer!;
  const config = typeof configJson === 'object' && configJson !== null ? configJson : {};
  return { json, configJson: chatTemplate === null ? config : { ...config, chat_template: chatTemplate } };
}
