/**
 * Addresses of the wasm backend's binaries in the built page (Vite copies them). Loaded on demand, in browsers only:
 * in Node the package finds its own files. The threaded binary is left out, since threads are switched off.
 */

import plain from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url';
import simd from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url';
import { setWasmPaths } from './tfjs.ts';

// tfjs insists on all three names; the threaded one is never fetched.
setWasmPaths({
  'tfjs-backend-wasm.wasm': plain,
  'tfjs-backend-wasm-simd.wasm': simd,
  'tfjs-backend-wasm-threaded-simd.wasm': simd,
});
