// Placeholder until the kernel is written.
export function cachedAttentionWgsl(): never {
  throw new Error('cachedAttentionWgsl: no WebGPU kernel yet');
}
