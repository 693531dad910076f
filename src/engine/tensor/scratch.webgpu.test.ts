import { test } from 'vitest';
import { requireWebGpu } from './testing.ts';
import { tf } from './tfjs.ts';
import { shaderSource } from './wgsl.ts';
import { ropeAttentionWgsl } from './ops/rope-attention/rope-attention.wgsl.ts';
await requireWebGpu();
test('compile', async () => {
  const device = (tf.backend() as any).device as GPUDevice;
  const D = 8;
  const S = (shape: number[]) => ({ shape, dtype: 'float32' as const });
  const plan = ropeAttentionWgsl([S([32, D]), S([32, D])] as any, [], { B: 1, T: 32, H: 1, Hkv: 1, D });
  const full = shaderSource(plan.passes[1]);
  let n = 0;
  const time = async (label: string, code: string) => {
    code += `\n// ${n++}\n`;
    const t0 = performance.now();
    const module = device.createShaderModule({ code });
    const info = await module.getCompilationInfo();
    const t1 = performance.now();
    const p = await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const t2 = performance.now();
    // first dispatch too
    console.log(label, (t1 - t0).toFixed(0), (t2 - t1).toFixed(0), info.messages.length, p ? '' : '');
  };
  await time('full', full);
  const v = full.replace('for (var j = 0u; j < 8u; j++)', 'for (var j = 0u; j < 8u + (u.T >> 31u); j++)');
  await time('acc rolled', v);
  const w = v.replace('for (var k = 0u; k < count; k++)', 'for (var k = 0u; k < count + (u.T >> 31u); k++)');
  await time('both rolled', w);
  const x = w.replaceAll('for (var c = 0u; c < 4u; c++)', 'for (var c = 0u; c < 4u + (u.T >> 31u); c++)').replaceAll('for (var r = 0u; r < 4u; r++)', 'for (var r = 0u; r < 4u + (u.T >> 31u); r++)').replaceAll('for (var c = 0u; c < 8u; c++)', 'for (var c = 0u; c < 8u + (u.T >> 31u); c++)');
  await time('all rolled', x);
});
