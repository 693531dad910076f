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
  documents: Iterable<Document>,
): Tokenizer {
  const { json, configJson } = tokenizerDocuments(vocabulary, task, documents);
  return loadTokenizer(json, configJson);
}

function tokenizerDocuments(
  vocabulary: 'task' | 'bytes' | 'characters',
  task: Task | null,
  documents: Iterable<Document>,
): TokenizerDocuments {
  switch (vocabulary) {
    case 'task':
      if (task) return taskTokenizerDocuments(task);
      throw new UserError(
        'model.vocabulary is "task", but no stage has a built-in task. Use "bytes" or "characters".',
      );
    case 'bytes':
      return byteTokenizerDocuments();
    case 'characters': {
      let any = false;
      const texts = function* () {
        for (const { prompt, completion } of documents) {
          any = true;
          yield prompt;
          yield completion;
        }
      };
      const made = characterTokenizerDocuments(texts());
      if (any) return made;
      throw new UserError(
        'model.vocabulary is "characters", but no data is loaded. Drop a data file first, or use "bytes".',
      );
    }
    default:
      return vocabulary satisfies never;
  }
}
