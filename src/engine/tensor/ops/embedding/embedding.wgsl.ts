// Placeholder until the kernel is written.
export function embeddingWgsl(): never {
  throw new Error('embeddingWgsl: no WebGPU kernel yet');
}
export function embeddingGradWgsl(): never {
  throw new Error('embeddingGradWgsl: no WebGPU kernel yet');
}
