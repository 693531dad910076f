import { UserError } from '../../base/assert.ts';
import type { Document } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import { loadTokenizer } from './hf-tokenizer.ts';
import { taskTokenizerDocuments } from './task-tokenizer.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The tokenizer of a model that starts from nothing. */
export function documentTokenizer(
  vocabulary: 'task' | 'bytes' | 'characters',
  task: Task | null,
  documents: readonly Document[],
): Tokenizer {
  if (vocabulary === 'task') {
    if (!task)
      throw new UserError('model.vocabulary is "task", but no stage has a built-in task. Use "bytes" or "characters".');
    const { json, configJson } = taskTokenizerDocuments(task);
    return loadTokenizer(json, configJson);
  }
  throw new UserError(`Vocabulary "${vocabulary}" is not there yet (${documents.length} documents).`);
}
