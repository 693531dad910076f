import { UserError } from '../../base/assert.ts';
import type { Document } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import { byteTokenizerDocuments } from './byte-tokenizer.ts';
import { characterTokenizerDocuments } from './character-tokenizer.ts';
import { loadTokenizer } from './hf-tokenizer.ts';
import { type TokenizerDocuments, taskTokenizerDocuments } from './task-tokenizer.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The tokenizer of a model that starts from nothing. */
export function documentTokenizer(
  vocabulary: 'task' | 'bytes' | 'characters',
  task: Task | null,
  documents: readonly Document[],
): Tokenizer {
  const { json, configJson } = tokenizerDocuments(vocabulary, task, documents);
  return loadTokenizer(json, configJson);
}

function tokenizerDocuments(
  vocabulary: 'task' | 'bytes' | 'characters',
  task: Task | null,
  documents: readonly Document[],
): TokenizerDocuments {
  switch (vocabulary) {
    case 'task':
      if (task) return taskTokenizerDocuments(task);
      throw new UserError(
        'model.vocabulary is "task", but no stage has a built-in task. Use "bytes" or "characters".',
      );
    case 'bytes':
      return byteTokenizerDocuments();
    case 'characters':
      if (documents.length > 0)
        return characterTokenizerDocuments(
          documents.flatMap(({ prompt, completion }) => [prompt, completion]),
        );
      throw new UserError(
        'model.vocabulary is "characters", but no data is loaded. Drop a data file first, or use "bytes".',
      );
    default:
      return vocabulary satisfies never;
  }
}
