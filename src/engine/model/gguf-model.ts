/** A Llama, Qwen2 or Qwen3 model in a GGUF file: configuration and weights in Hugging Face's terms. */
import { assert, UserError } from '../../base/assert.ts';
import { nameOf, type TensorPlace } from './blobs.ts';
import { type ModelConfig, parseModelConfig } from './config.ts';
import type { Gguf } from './gguf.ts';
import { pairsToHalves } from './rotary-rows.ts';
import { checkTensors } from './tensor-check.ts';

/** Layer-wise names: GGUF → Hugging Face. */
const LAYER_NAMES: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};
const NAMES: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
};

/** Unknown names stay, so that the check can name them. */
function renamed(name: string): string {
  if (Object.hasOwn(NAMES, name)) return NAMES[name];
  const layer = /^blk\.(\d+)\.([a-z_]+)\.(weight|bias)$/.exec(name);
  return layer && Object.hasOwn(LAYER_NAMES, layer[2])
    ? `model.layers.${layer[1]}.${LAYER_NAMES[layer[2]]}.${layer[3]}`
    : name;
}

const inverse = (names: Readonly<Record<string, string>>) =>
  new Map(Object.entries(names).map(([gguf, huggingFace]) => [huggingFace, gguf]));
const [GGUF_NAMES, GGUF_LAYER_NAMES] = [inverse(NAMES), inverse(LAYER_NAMES)];

/** The GGUF name of a tensor of the decoder. */
export function ggufName(name: string): string {
  const layer = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name);
  const known = layer ? GGUF_LAYER_NAMES.get(layer[2]) : GGUF_NAMES.get(name);
  assert(known, `no GGUF name of tensor "${name}"`);
  return layer ? `blk.${layer[1]}.${known}.${layer[3]}` : known;
}

/** @throws UserError that names what is missing, not supported or of the wrong shape */
export function ggufModel(
  { metadata, tensors }: Gguf,
  path: string,
): { config: ModelConfig; places: Map<string, TensorPlace> } {
  const file = nameOf(path);
  const architecture = metadata.get('general.architecture');
  const config = ggufConfig(metadata, tensors, String(architecture), file);
  if (tensors.has('rope_freqs.weight'))
    throw new UserError(
      `${file} scales its rotary positions (rope_freqs, "rope_scaling" of type llama3), which is not supported; use a model with plain rotary positions.`,
    );
  const places = new Map<string, TensorPlace>();
  for (const [name, place] of tensors) {
    const reorder = (heads: number) => (values: Float32Array) => pairsToHalves(values, heads, config.headDim);
    // Qwen's files keep the halves.
    const rotated = architecture === 'llama' && /\.attn_([qk])\./.exec(name)?.[1];
    places.set(renamed(name), {
      ...place,
      reorder: rotated ? reorder(rotated === 'q' ? config.heads : config.kvHeads) : undefined,
    });
  }
  checkTensors(config, places, file);
  return { config, places };
}

function ggufConfig(
  metadata: Gguf['metadata'],
  tensors: Gguf['tensors'],
  architecture: string,
  file: string,
): ModelConfig {
  if (!['llama', 'qwen2', 'qwen3'].includes(architecture))
    throw new UserError(
      `${file} holds a model of the architecture ${JSON.stringify(metadata.get('general.architecture') ?? null)}. Polypath runs llama, qwen2 and qwen3 models.`,
    );
  const number = (key: string, fallback?: number): number => {
    const value = metadata.get(`${architecture}.${key}`) ?? fallback;
    if (value === undefined)
      throw new UserError(`${file} has no "${architecture}.${key}" in its metadata, which a model needs.`);
    if (typeof value !== 'number' || !(value > 0))
      throw new UserError(`${file}: "${architecture}.${key}" must be a number above 0, but is not.`);
    return value;
  };
  if ((metadata.get(`${architecture}.expert_count`) ?? 0) !== 0)
    throw new UserError(`${file} holds a mixture of experts, which is not supported. Use a dense model.`);
  const scaling = metadata.get(`${architecture}.rope.scaling.type`) ?? 'none';
  if (scaling !== 'none' && metadata.get(`${architecture}.rope.scaling.factor`) !== 1)
    throw new UserError(
      `${file} scales its rotary positions ("${scaling}"), which is not supported; use a model with plain rotary positions.`,
    );
  const heads = number('attention.head_count');
  const hiddenSize = number('embedding_length');
  const embedding = tensors.get('token_embd.weight');
  if (!embedding)
    throw new UserError(`${file} has no tensor "token_embd.weight". It may hold a vocabulary only.`);
  const headDim = number('attention.key_length', hiddenSize / heads);
  if (number('rope.dimension_count', headDim) !== headDim)
    throw new UserError(`${file} rotates only a part of each head, which is not supported.`);
  return parseModelConfig({
    model_type: architecture,
    vocab_size: embedding.shape[0],
    hidden_size: hiddenSize,
    intermediate_size: number('feed_forward_length'),
    num_hidden_layers: number('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: number('attention.head_count_kv', heads),
    head_dim: headDim,
    rope_theta: number('rope.freq_base', 10000),
    rms_norm_eps: Math.fround(number('attention.layer_norm_rms_epsilon')),
    max_position_embeddings: number('context_length', 2048),
    tie_word_embeddings: !tensors.has('output.weight'),
    attention_bias:
      architecture !== 'qwen2' && tensors.has('blk.0.attn_q.bias') && tensors.has('blk.0.attn_output.bias'),
    mlp_bias: tensors.has('blk.0.ffn_up.bias'),
  });
}
