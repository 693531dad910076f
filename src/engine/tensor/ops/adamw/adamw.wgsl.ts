// Placeholder until the kernel is written.
export function adamwWgsl(): never {
  throw new Error('adamwWgsl: no WebGPU kernel yet');
}
export function globalNormWgsl(): never {
  throw new Error('globalNormWgsl: no WebGPU kernel yet');
}
