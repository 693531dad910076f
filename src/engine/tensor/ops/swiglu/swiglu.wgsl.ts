// Placeholder until the kernel is written.
export function swigluWgsl(): never {
  throw new Error('swigluWgsl: no WebGPU kernel yet');
}
export function swigluGradWgsl(): never {
  throw new Error('swigluGradWgsl: no WebGPU kernel yet');
}
