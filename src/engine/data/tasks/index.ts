import { UserError } from '../../../base/assert.ts';
import { signSearch } from './sign-search.ts';
import { signedChain } from './signed-chain.ts';
import type { Task } from './task.ts';

/** Every built-in task by name. */
export const TASKS: Readonly<Record<string, Task>> = {
  [signedChain.name]: signedChain,
  [signSearch.name]: signSearch,
};

export function taskNamed(name: string): Task {
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : null;
  if (!task)
    throw new UserError(`There is no task "${name}". Built-in tasks: ${Object.keys(TASKS).join(', ')}.`);
  return task;
}
