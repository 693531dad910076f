/**
 * The only place that asks for a WebGPU adapter. Opens the backend that the engine computes on and says in words what
 * it is; nothing here runs until `openBackend` is called.
 */
import { messageOf, UserError } from '../../base/assert.ts';
import { setWgslRunner } from './op.ts';
import { tf } from './tfjs.ts';
import { type KernelStyle, setKernelStyle } from './wgsl.ts';

export type BackendName = 'webgpu' | 'wasm' | 'cpu';

/** What the engine runs on, in words for the page (the worker's protocol has the same type). */
export interface DeviceReport {
  backend: BackendName;
  /** Adapter or runtime, e.g. "nvidia · ampere" or "WebAssembly SIMD". */
  name: string;
  /** Set when the backend is not what the user would expect, and why. */
  notice: string | null;
  /** WebGPU runs in software (SwiftShader and the like). */
  software: boolean;
  features: string[];
  /** Which kernels are in use and how many of them were compared with their slow truths, on WebGPU. */
  kernels?: { style: KernelStyle; checked: number };
}

/** Told once, in a sentence, when the GPU is gone (driver reset, sleep, another page's crash). */
export type DeviceListener = (message: string) => void;

const lostListeners = new Set<DeviceListener>();

/** The GPU is gone, and all tensors with it. Returns a function that takes the listener off. */
export function onDeviceLost(listener: DeviceListener): () => void {
  lostListeners.add(listener);
  return () => void lostListeners.delete(listener);
}

/** Asked for as high as the adapter offers; everything else stays at WebGPU's defaults. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupsPerDimension',
] as const;
const FEATURES: readonly GPUFeatureName[] = ['shader-f16', 'subgroups', 'timestamp-query'];

const SOFTWARE = /swiftshader|llvmpipe|lavapipe|software|basic render/i;

function isSoftware(info: GPUAdapterInfo): boolean {
  const fallback = (info as { isFallbackAdapter?: boolean }).isFallbackAdapter === true;
  return fallback || SOFTWARE.test([info.vendor, info.architecture, info.device, info.description].join(' '));
}

function nameOf(info: GPUAdapterInfo): string {
  const parts = [info.vendor, info.architecture].filter(Boolean);
  return parts.join(' · ') || info.description || 'unnamed GPU';
}

type Opened = { report: DeviceReport } | { reason: string };

const SLOW_WEBGPU =
  'WebGPU runs in software here, slower than the processor by itself, so training runs on the processor. Compute: WebGPU takes it all the same.';

/** Opens WebGPU, or says why not; `onlyHardware` refuses one that runs in software. */
async function openWebGpu(onlyHardware: boolean): Promise<Opened | { slow: string }> {
  const gpu = typeof navigator === 'undefined' ? undefined : (navigator.gpu as GPU | undefined);
  if (!gpu)
    return {
      reason:
        typeof isSecureContext !== 'undefined' && !isSecureContext
          ? 'the page was not loaded over https or from localhost'
          : 'this browser does not offer it',
    };
  let device: GPUDevice;
  let info: GPUAdapterInfo;
  try {
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) return { reason: 'the browser found no graphics adapter that it can use' };
    if (onlyHardware && isSoftware(adapter.info)) return { slow: SLOW_WEBGPU };
    const requiredLimits: Record<string, number> = {};
    for (const limit of LIMITS) requiredLimits[limit] = adapter.limits[limit];
    device = await adapter.requestDevice({
      requiredFeatures: FEATURES.filter((feature) => adapter.features.has(feature)),
      requiredLimits,
    });
    info = adapter.info;
  } catch (error) {
    return { reason: `the graphics adapter could not be opened (${messageOf(error)})` };
  }
  const { PolypathBackend } = await import('./webgpu-backend.ts');
  const { runWgsl } = await import('./webgpu-runner.ts');
  setWgslRunner(runWgsl);
  // Small ops on the CPU would be baked into a captured step as constants, and cost a read-back.
  tf.env().set('WEBGPU_CPU_FORWARD', false);
  const backend = new PolypathBackend(device, info);
  device.lost.then(({ reason, message }) => {
    if (reason === 'destroyed') return; // by us
    const text = `The graphics device was lost${message ? ` (${message})` : ''}. What was on it is gone; go on from the last checkpoint.`;
    for (const listener of lostListeners) listener(text);
    backend.fail(new UserError(text));
  });
  if (tf.findBackendFactory('webgpu')) tf.removeBackend('webgpu');
  tf.registerBackend('webgpu', () => backend, 3);
  await tf.setBackend('webgpu');
  const software = isSoftware(info);
  setKernelStyle(software ? 'direct' : 'tiled');
  return {
    report: {
      backend: 'webgpu',
      name: nameOf(info),
      notice: software
        ? 'WebGPU runs in software here, on the processor: far slower than on a graphics card.'
        : null,
      software,
      features: FEATURES.filter((feature) => device.features.has(feature)),
    },
  };
}

const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;

async function openWasm(): Promise<Opened> {
  try {
    // The threaded binary does not survive bundling (architecture, section 4).
    tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
    if (!inNode) await import('./tfjs-wasm-paths.ts');
    if (!(await tf.setBackend('wasm'))) return { reason: 'it did not start' };
    const simd = await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT');
    const name = simd ? 'WebAssembly SIMD' : 'WebAssembly';
    return {
      report: { backend: 'wasm', name, notice: null, software: false, features: simd ? ['simd'] : [] },
    };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

async function openCpu(): Promise<DeviceReport> {
  await tf.setBackend('cpu');
  return { backend: 'cpu', name: 'JavaScript', notice: null, software: false, features: [] };
}

/**
 * Makes a backend current. `auto` and `webgpu` fall back to wasm, and wasm to plain JavaScript, with a notice that
 * says why; `auto` also leaves WebGPU alone where it runs in software; tensors of an earlier backend stay where they were, except that a second WebGPU device replaces the first.
 */
export async function openBackend(choice: BackendName | 'auto'): Promise<DeviceReport> {
  let notice: string | null = null;
  if (choice === 'auto' || choice === 'webgpu') {
    const opened = await openWebGpu(choice === 'auto');
    if ('report' in opened) return opened.report;
    notice =
      'slow' in opened
        ? opened.slow
        : `No WebGPU here: ${opened.reason}. Training runs on the processor instead, slowly.`;
  }
  if (choice !== 'cpu') {
    const opened = await openWasm();
    if ('report' in opened) return { ...opened.report, notice };
    notice = `${notice ? `${notice} ` : ''}No WebAssembly either: ${opened.reason}. Plain JavaScript is slower still.`;
  }
  return { ...(await openCpu()), notice };
}
