/**
 * The decoder's configuration. Shape letters, used bare in model, train and ops:
 * B rows, T slots per row, N = B·T tokens, C hidden size, D head size, H query heads, V vocabulary, G group size.
 * H_kv is the number of key/value heads (grouped-query attention), F the feed-forward size, L layers.
 */
import { UserError } from '../../base/assert.ts';

export type Architecture = 'llama' | 'qwen2' | 'qwen3';

export interface ModelConfig {
  architecture: Architecture;
  vocabSize: number; // V
  hiddenSize: number; // C
  intermediateSize: number; // F
  layers: number; // L
  heads: number; // H
  kvHeads: number; // H_kv
  headDim: number; // D
  ropeTheta: number;
  rmsNormEps: number;
  tieWordEmbeddings: boolean;
  /** q, k and v have a bias (Qwen2; a Llama with `attention_bias` too, which then also has one on o). */
  qkvBias: boolean;
  outputBias: boolean;
  mlpBias: boolean;
  /** RMSNorm over D on q and k before RoPE (Qwen3). */
  qkNorm: boolean;
  maxPositions: number;
}

const ARCHITECTURES: Record<string, string> = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
};

function number(json: Record<string, unknown>, key: string, fallback?: number): number {
  const value = json[key];
  if (value === undefined || value === null) {
    if (fallback !== undefined) return fallback;
    throw new UserError(
      `config.json has no "${key}". A Hugging Face config of a Llama, Qwen2 or Qwen3 model has it.`,
    );
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0)
    throw new UserError(`config.json: "${key}" must be a positive number, but is ${JSON.stringify(value)}.`);
  return value;
}

/** Reads a Hugging Face `config.json`. Throws a UserError that names what is missing or not supported. */
export function parseModelConfig(document: unknown): ModelConfig {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new UserError('config.json does not hold a JSON object.');
  const json = document as Record<string, unknown>;
  const type = String(json.model_type ?? '');
  if (!(type in ARCHITECTURES))
    throw new UserError(
      `config.json: model_type ${JSON.stringify(json.model_type)} is not supported. Polypath runs llama, qwen2 and qwen3 models.`,
    );
  const architecture = type as Architecture;
  if (json.rope_scaling != null)
    throw new UserError(
      'config.json: "rope_scaling" is not supported; use a model with plain rotary positions.',
    );
  if (json.use_sliding_window === true)
    throw new UserError(
      'config.json: "use_sliding_window" is not supported; use a model with full attention.',
    );
  if (json.hidden_act !== undefined && json.hidden_act !== 'silu')
    throw new UserError(
      `config.json: hidden_act ${JSON.stringify(json.hidden_act)} is not supported, only "silu".`,
    );
  const hiddenSize = number(json, 'hidden_size');
  const heads = number(json, 'num_attention_heads');
  const kvHeads = number(json, 'num_key_value_heads', heads);
  const headDim = number(json, 'head_dim', hiddenSize / heads);
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new UserError(`config.json: the head size must be an even whole number, but is ${headDim}.`);
  if (heads % kvHeads !== 0)
    throw new UserError(
      `config.json: num_attention_heads (${heads}) must be a multiple of num_key_value_heads (${kvHeads}).`,
    );
  // From transformers 5 on rope_theta lives in "rope_parameters".
  const rope = json.rope_parameters as Record<string, unknown> | undefined;
  const attentionBias = json.attention_bias === true;
  return {
    architecture,
    vocabSize: number(json, 'vocab_size'),
    hiddenSize,
    intermediateSize: number(json, 'intermediate_size'),
    layers: number(json, 'num_hidden_layers'),
    heads,
    kvHeads,
    headDim,
    ropeTheta: number(json, 'rope_theta', typeof rope?.rope_theta === 'number' ? rope.rope_theta : 10000),
    rmsNormEps: number(json, 'rms_norm_eps', 1e-6),
    tieWordEmbeddings: json.tie_word_embeddings === true,
    // Qwen2 has no flag for its q/k/v bias: the architecture implies it.
    qkvBias: architecture === 'qwen2' || attentionBias,
    outputBias: architecture !== 'qwen2' && attentionBias,
    mlpBias: json.mlp_bias === true,
    qkNorm: architecture === 'qwen3',
    maxPositions: number(json, 'max_position_embeddings', 2048),
  };
}

/** The Hugging Face `config.json` of a configuration: what transformers needs to load the folder. */
export function modelConfigJson(
  config: ModelConfig,
  ids: { bos: number; eos: number; pad: number },
): Record<string, unknown> {
  return {
    architectures: [ARCHITECTURES[config.architecture]],
    model_type: config.architecture,
    attention_bias: config.architecture === 'qwen2' ? undefined : config.qkvBias,
    attention_dropout: 0,
    bos_token_id: ids.bos < 0 ? null : ids.bos,
    eos_token_id: ids.eos,
    pad_token_id: ids.pad < 0 ? null : ids.pad,
    head_dim: config.headDim,
    hidden_act: 'silu',
    hidden_size: config.hiddenSize,
    initializer_range: 0.02,
    intermediate_size: config.intermediateSize,
    max_position_embeddings: config.maxPositions,
    mlp_bias: config.architecture === 'llama' ? config.mlpBias : undefined,
    num_attention_heads: config.heads,
    num_hidden_layers: config.layers,
    num_key_value_heads: config.kvHeads,
    rms_norm_eps: config.rmsNormEps,
    rope_scaling: null,
    rope_theta: config.ropeTheta,
    tie_word_embeddings: config.tieWordEmbeddings,
    torch_dtype: 'float32',
    use_cache: true,
    vocab_size: config.vocabSize,
  };
}

/** Names (Hugging Face) and shapes of every tensor, in file order. */
export function tensorShapes(config: ModelConfig): Map<string, readonly number[]> {
  const { vocabSize: V, hiddenSize: C, intermediateSize: F, headDim: D } = config;
  const q = config.heads * D;
  const kv = config.kvHeads * D;
  const shapes = new Map<string, readonly number[]>();
  shapes.set('model.embed_tokens.weight', [V, C]);
  for (let layer = 0; layer < config.layers; layer++) {
    const p = `model.layers.${layer}`;
    shapes.set(`${p}.input_layernorm.weight`, [C]);
    shapes.set(`${p}.self_attn.q_proj.weight`, [q, C]);
    shapes.set(`${p}.self_attn.k_proj.weight`, [kv, C]);
    shapes.set(`${p}.self_attn.v_proj.weight`, [kv, C]);
    shapes.set(`${p}.self_attn.o_proj.weight`, [C, q]);
    if (config.qkvBias) {
      shapes.set(`${p}.self_attn.q_proj.bias`, [q]);
      shapes.set(`${p}.self_attn.k_proj.bias`, [kv]);
      shapes.set(`${p}.self_attn.v_proj.bias`, [kv]);
    }
    if (config.outputBias) shapes.set(`${p}.self_attn.o_proj.bias`, [C]);
    if (config.qkNorm) {
      shapes.set(`${p}.self_attn.q_norm.weight`, [D]);
      shapes.set(`${p}.self_attn.k_norm.weight`, [D]);
    }
    shapes.set(`${p}.post_attention_layernorm.weight`, [C]);
    shapes.set(`${p}.mlp.gate_proj.weight`, [F, C]);
    shapes.set(`${p}.mlp.up_proj.weight`, [F, C]);
    shapes.set(`${p}.mlp.down_proj.weight`, [C, F]);
    if (config.mlpBias) {
      shapes.set(`${p}.mlp.gate_proj.bias`, [F]);
      shapes.set(`${p}.mlp.up_proj.bias`, [F]);
      shapes.set(`${p}.mlp.down_proj.bias`, [C]);
    }
  }
  shapes.set('model.norm.weight', [C]);
  if (!config.tieWordEmbeddings) shapes.set('lm_head.weight', [V, C]);
  return shapes;
}

/** Number of parameters. */
export function parameterCount(config: ModelConfig): number {
  let sum = 0;
  for (const shape of tensorShapes(config).values()) sum += shape.reduce((a, b) => a * b, 1);
  return sum;
}
