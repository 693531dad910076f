// Placeholder until the kernel is written.
export function logitLossWgsl(): never {
  throw new Error('logitLossWgsl: no WebGPU kernel yet');
}
export function logitLossGradWgsl(): never {
  throw new Error('logitLossGradWgsl: no WebGPU kernel yet');
}
