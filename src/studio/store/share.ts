/** A recipe as a link: packed into the hash, which no server ever sees. Never data: a recipe names data sets only. */
import { deflateSync, Inflate } from 'fflate';
import { hrefOf } from './route.ts';

/** Unpacked; a recipe is a few kilobytes, and a link from a stranger may be a bomb. */
const MOST = 1 << 20;

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

function fromBase64Url(text: string): Uint8Array {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export function packRecipe(recipe: unknown): string {
  return toBase64Url(deflateSync(new TextEncoder().encode(JSON.stringify(recipe)), { level: 9 }));
}

/** The link to a recipe on the page at `base` (its address up to the hash). */
export function recipeLink(recipe: unknown, base: string): string {
  return `${base.replace(/#.*$/, '')}${hrefOf('recipe', { r: packRecipe(recipe) })}`;
}

/** @throws Error with a sentence where the text is no recipe */
export function unpackRecipe(text: string): unknown {
  const broken = (reason: string) =>
    new Error(
      `The link has no recipe that can be read: ${reason}. Ask for it again, or choose a recipe below.`,
    );
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    const inflate = new Inflate((piece) => {
      size += piece.length;
      if (size > MOST) throw new Error('it unpacks to more than a recipe can be');
      pieces.push(piece);
    });
    const packed = fromBase64Url(text);
    // In small steps, so that a bomb is noticed before it fills the memory.
    for (let at = 0; at < packed.length; at += 1024)
      inflate.push(packed.subarray(at, at + 1024), at + 1024 >= packed.length);
  } catch (error) {
    throw broken(error instanceof Error ? error.message : 'it is damaged');
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  try {
    const recipe: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof recipe === 'object' && recipe !== null) return recipe;
  } catch {
    // Told below.
  }
  throw broken('it is cut off or damaged');
}
