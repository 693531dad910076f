/**
 * llama2.c's checkpoints (karpathy/llama2.c, export.py and run.c): the first format, seven integers and floats behind
 * them, and version 1 ("ak42"); and its `tokenizer.bin`. Neither names eps and theta: they are 1e-5 and 10000.
 */
import { UserError } from '../../base/assert.ts';
import { type ScoredPiece, scoredTokenizerDocuments } from '../tokenizer/scored-pieces.ts';
import type { TokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { type NamedBlob, nameOf, readBytes, type TensorPlace } from './blobs.ts';
import { type ModelConfig, parseModelConfig } from './config.ts';
import { F32 } from './float-blocks.ts';
import { pairsToHalves } from './rotary-rows.ts';
import { checkTensors } from './tensor-check.ts';

const MAGIC = 0x616b3432;
const HEADER = 28;
const HEADER_V1 = 256;
/** llama2.c knows no larger model (Llama 2 7B has 32 layers), and a real header's numbers are below these. */
const MAX_LAYERS = 512;
const MAX_SIZE = 2 ** 24;

export interface Llama2cModel {
  config: ModelConfig;
  places: Map<string, TensorPlace>;
}

/**
 * @returns null if the file does not look like a checkpoint of llama2.c
 * @throws UserError for one that is cut off or of another version
 */
export async function readLlama2c(file: NamedBlob): Promise<Llama2cModel | null> {
  const { size } = file.blob;
  if (size < HEADER) return null;
  const head = new DataView((await readBytes(file, 0, Math.min(size, HEADER_V1))).buffer);
  const v1 = head.getUint32(0, true) === MAGIC;
  if (v1 && (size < HEADER_V1 || head.getInt32(4, true) !== 1))
    throw new UserError(
      `${nameOf(file.path)} is a llama2.c checkpoint of version ${size < 8 ? '?' : head.getInt32(4, true)} (version 2 holds int8 weights), or cut off. Export it as version 0 or 1, or as a Hugging Face folder.`,
    );
  const fields = Array.from({ length: 7 }, (_, i) => head.getInt32((v1 ? 8 : 0) + 4 * i, true));
  const [dim, hidden, layers, heads, kvHeads, signedVocab, positions] = fields;
  const vocab = Math.abs(signedVocab);
  const plausible =
    [dim, hidden, layers, heads, kvHeads, vocab, positions].every((n) => n > 0 && n <= MAX_SIZE) &&
    layers <= MAX_LAYERS &&
    dim % heads === 0 &&
    (dim / heads) % 2 === 0 &&
    heads % kvHeads === 0;
  if (!plausible) {
    if (v1) throw new UserError(`${nameOf(file.path)}: its header gives impossible sizes (${fields}).`);
    return null;
  }
  // Before version 1 the sign of the vocabulary's size says whether the head is the embedding.
  const shared = v1 ? head.getUint8(36) === 1 : signedVocab > 0;
  const config = parseModelConfig({
    model_type: 'llama',
    vocab_size: vocab,
    hidden_size: dim,
    intermediate_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    max_position_embeddings: positions,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: shared,
  });
  const { places, end } = lay(file, config, v1, shared);
  if (end !== size) {
    // The first format has no magic: only a fitting size tells a model, but a cut one should be named.
    const near = !v1 && (size < end / 64 || size > end);
    if (near) return null;
    throw new UserError(
      `${nameOf(file.path)} has ${size} bytes, but a llama2.c checkpoint of its header (${layers} layers of ${dim}, ${vocab} tokens) has ${end}: it is cut off or damaged. Copy or download it again.`,
    );
  }
  checkTensors(config, places, nameOf(file.path));
  return { config, places };
}

function lay(file: NamedBlob, config: ModelConfig, v1: boolean, shared: boolean) {
  const { hiddenSize: C, intermediateSize: F, vocabSize: V, heads, kvHeads, headDim: D, layers } = config;
  const places = new Map<string, TensorPlace>();
  let at = v1 ? HEADER_V1 : HEADER;
  const one = (name: string, shape: number[], rotated = 0) => {
    const reorder = rotated ? (values: Float32Array) => pairsToHalves(values, rotated, D) : undefined;
    places.set(name, { file, begin: at, shape, format: F32, reorder });
    at += 4 * shape.reduce((a, b) => a * b, 1);
  };
  const each = (name: string, shape: number[], rotated = 0) => {
    for (let layer = 0; layer < layers; layer++) one(`model.layers.${layer}.${name}.weight`, shape, rotated);
  };
  const matrices = () => {
    each('self_attn.q_proj', [heads * D, C], heads);
    each('self_attn.k_proj', [kvHeads * D, C], kvHeads);
    each('self_attn.v_proj', [kvHeads * D, C]);
    each('self_attn.o_proj', [C, heads * D]);
  };
  const feedForward = () => {
    each('mlp.gate_proj', [F, C]);
    each('mlp.down_proj', [C, F]);
    each('mlp.up_proj', [F, C]);
  };
  if (v1) {
    each('input_layernorm', [C]);
    each('post_attention_layernorm', [C]);
    one('model.norm.weight', [C]);
    one('model.embed_tokens.weight', [V, C]);
    matrices();
    feedForward();
  } else {
    one('model.embed_tokens.weight', [V, C]);
    each('input_layernorm', [C]);
    matrices();
    each('post_attention_layernorm', [C]);
    feedForward();
    one('model.norm.weight', [C]);
    // Tables of cos and sin, which are computed here.
    at += 4 * config.maxPositions * D;
  }
  if (!shared) one('lm_head.weight', [V, C]);
  return { places, end: at };
}

/** A whole vocabulary is small; nothing larger is read. */
const MAX_TOKENIZER = 64 * 2 ** 20;

/**
 * Reads `tokenizer.bin`: the longest length, then for each token a float score, a length and the bytes.
 * @param vocabSize how many tokens the model has
 * @returns null if the file is no such vocabulary
 */
export async function readLlama2cTokenizer(
  file: NamedBlob,
  vocabSize: number,
): Promise<TokenizerDocuments | null> {
  const { size } = file.blob;
  if (size < 4 || size > MAX_TOKENIZER || size < 4 + 8 * vocabSize) return null;
  const bytes = await readBytes(file, 0, size);
  const view = new DataView(bytes.buffer);
  const longest = view.getInt32(0, true);
  const pieces: ScoredPiece[] = [];
  let at = 4;
  while (at < size) {
    if (at + 8 > size || pieces.length === vocabSize) return null;
    const score = view.getFloat32(at, true);
    const length = view.getInt32(at + 4, true);
    if (length < 0 || length > longest || at + 8 + length > size) return null;
    pieces.push(
      piece(new TextDecoder().decode(bytes.subarray(at + 8, at + 8 + length)), score, pieces.length),
    );
    at += 8 + length;
  }
  if (pieces.length !== vocabSize) return null;
  const kindIs = (kind: ScoredPiece['kind'], id: number) => (pieces[id]?.kind === kind ? id : -1);
  return scoredTokenizerDocuments({
    pieces,
    unk: kindIs('unknown', 0),
    bos: kindIs('control', 1),
    eos: kindIs('control', 2),
    pad: -1,
    spacePrefix: true,
  });
}

/** llama2.c writes the spaces of SentencePiece as spaces, and its two control tokens with line breaks around them. */
function piece(text: string, score: number, id: number): ScoredPiece {
  if (id === 0 && text === '<unk>') return { text, score, kind: 'unknown' };
  const control = /^\n(<\/?s>)\n$/.exec(text) ?? (id < 3 ? /^(<\/?s>)$/.exec(text) : null);
  if (control) return { text: control[1], score, kind: 'control' };
  if (/^<0x[0-9A-F]{2}>$/.test(text)) return { text, score, kind: 'byte' };
  return { text: text.replaceAll(' ', '▁'), score, kind: 'piece' };
}
