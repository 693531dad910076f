// Placeholder until the kernel is written.
export function sampleWgsl(): never {
  throw new Error('sampleWgsl: no WebGPU kernel yet');
}
