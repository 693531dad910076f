/**
 * The only import of tfjs's WebGPU backend, loaded on demand by device.ts so that Node never sees WebGPU code.
 * Importing it registers every WebGPU kernel and, where `navigator.gpu` exists, a backend factory of tfjs's own that
 * asks for default limits and crashes without an adapter: device.ts replaces that factory.
 */
export { WebGPUBackend } from '@tensorflow/tfjs-backend-webgpu';
