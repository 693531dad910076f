import type { Document, Example } from '../data/example.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { type StructureOptions, structureOf } from './tree.ts';

export interface ExampleOptions extends Pick<StructureOptions, 'variant' | 'positions' | 'pathStride'> {
  /** What is trained: the response and <eos>, or the prompt too. */
  loss: 'completion' | 'all';
  maxTokens: number;
}

/** <bos> prompt response <eos>, ready for the model; cut at `maxTokens`. <bos> is never a target. */
export function exampleOf(document: Document, tokenizer: Tokenizer, options: ExampleOptions): Example {
  const { special } = tokenizer;
  const prompt = [...(special.bos >= 0 ? [special.bos] : []), ...tokenizer.encode(document.prompt)];
  const tokens = Int32Array.from([...prompt, ...tokenizer.encode(document.completion), special.eos]).slice(
    0,
    options.maxTokens,
  );
  const { positions, branches } = structureOf(tokens, prompt.length, special, {
    positionGap: document.positionGap,
    variant: options.variant,
    positions: options.positions,
    pathStride: options.pathStride,
  });
  const first = options.loss === 'completion' ? prompt.length : 1;
  const targets = Uint8Array.from(tokens, (_, t) => (t >= first && t > 0 ? 1 : 0));
  return { tokens, positions, branches, targets, promptLength: Math.min(prompt.length, tokens.length) };
}
