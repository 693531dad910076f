/** What can be told of a rollout while it is written: its tree so far and its tokens so far. */
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { type RowView, textOrder } from './row.ts';
import { type RolloutTree, treeOf } from './tree.ts';

/** The tree as far as it is written; what is being written is open. */
export function growingTree(row: RowView, tokenizer: Tokenizer): RolloutTree {
  const order = textOrder(row.branches);
  const tokens = Array.from(order, (slot) => row.tokens[slot]);
  const branches = Array.from(order, (slot) => row.branches[slot]);
  const decode = (ids: number[]) => tokenizer.decode(ids);
  return treeOf(tokens, row.prompt.length, tokenizer.special, decode, !row.done, branches);
}

/** Response tokens: all of them, and those on the longest chain from prompt to end, which one waits for. */
export interface TokenCost {
  total: number;
  critical: number;
}

/** Cost so far; of a finished row what its rollout says. A row that waits for its turn has none. */
export function costSoFar(row: RowView): TokenCost {
  const { branches } = row;
  const promptLength = row.prompt.length;
  let trunk = 0;
  /** Tokens of each path, by branch code. */
  const paths = new Map<number, number>();
  for (let slot = promptLength; slot < branches.length; slot++)
    if (branches[slot] === 0) trunk++;
    else paths.set(branches[slot], (paths.get(branches[slot]) ?? 0) + 1);
  const longest = new Map<number, number>();
  for (const [code, tokens] of paths) longest.set(code >> 4, Math.max(longest.get(code >> 4) ?? 0, tokens));
  const critical = [...longest.values()].reduce((sum, tokens) => sum + tokens, trunk);
  return { total: Math.max(0, branches.length - promptLength), critical };
}
