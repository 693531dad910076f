/**
 * Self-BLEU: how alike the paths of a block are (Zhu et al. 2018, arXiv 1802.01886; BLEU: Papineni et al. 2002). 1 =
 * identical, which adds nothing; about 0 = nothing in common.
 */

const LONGEST_NGRAM = 4;

/**
 * The words of a text: runs of letters, runs of digits, and every other mark by itself. Independent of the tokenizer,
 * so that runs of different models compare; `+20=20` has no blank in it but four words.
 */
export const wordsOf = (text: string): string[] => text.match(/\p{L}+|\p{N}+|[^\s\p{L}\p{N}]/gu) ?? [];

function ngrams(words: readonly string[], n: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i + n <= words.length; i++) {
    // A blank can't be part of a word.
    const gram = words.slice(i, i + n).join(' ');
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}

/**
 * BLEU of a hypothesis against one reference, 0 to 1: geometric mean of the clipped n-gram precisions, n = 1 to 4 (as
 * far as the hypothesis has n-grams), times the brevity penalty. The j-th n without a match counts as 1 / (2^j · total)
 * ("exp" smoothing of sacreBLEU); nothing in common at any n is 0. Two empty texts are identical: 1.
 */
export function bleu(hypothesis: readonly string[], reference: readonly string[]): number {
  if (hypothesis.length === 0 || reference.length === 0)
    return hypothesis.length === reference.length ? 1 : 0;
  let logs = 0;
  let orders = 0;
  let misses = 0;
  for (let n = 1; n <= LONGEST_NGRAM && n <= hypothesis.length; n++) {
    const there = ngrams(reference, n);
    let matches = 0;
    for (const [gram, count] of ngrams(hypothesis, n)) matches += Math.min(count, there.get(gram) ?? 0);
    const total = hypothesis.length - n + 1;
    logs += Math.log(matches > 0 ? matches / total : 1 / (2 ** ++misses * total));
    orders++;
  }
  if (misses === orders) return 0;
  const brevity = hypothesis.length < reference.length ? 1 - reference.length / hypothesis.length : 0;
  return Math.exp(logs / orders + brevity);
}

/**
 * Mean over the pairs i < j of BLEU(text i, text j); 1 for fewer than two texts.
 * @param texts one list of words per path
 */
export function selfBleu(texts: readonly (readonly string[])[]): number {
  if (texts.length < 2) return 1;
  let sum = 0;
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++) sum += bleu(texts[i], texts[j]);
  return sum / ((texts.length * (texts.length - 1)) / 2);
}
