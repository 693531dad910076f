/** WGSL forms of linear and its gradients: one matrix product, written for the device at hand. */
import type { TensorSpec } from '../../op.ts';
import { kernelStyle, type Wgsl } from '../../wgsl.ts';
import { directProduct } from './direct-product.wgsl.ts';
import type { LinearAttributes, ProductAttributes, WeightGradAttributes } from './linear.ts';
import type { Operand, Product } from './product.ts';
import { tiledProduct } from './tiled-product.wgsl.ts';

type Parts = Pick<Product, 'a' | 'b' | 'M' | 'N' | 'K' | 'alpha'> & Partial<Product>;

const product = (parts: Parts): ReturnType<Wgsl<object>> => {
  const whole: Product = {
    bias: null,
    residual: null,
    out: { output: 0 },
    add: false,
    sums: null,
    ...parts,
  };
  return kernelStyle() === 'direct' ? directProduct(whole) : tiledProduct(whole);
};

const operand = (input: number, layout: Operand['layout'], half = false): Operand => ({
  arg: { input },
  layout,
  half,
});

/** [x [N, I], w [O, I], b [O] (optional), r [N, O] (optional)] → [y [N, O]] */
export const linearWgsl: Wgsl<LinearAttributes> = (inputs, _, { bias, residual, alpha = 1, half }) => {
  const [x, w] = inputs;
  const [N, I] = x.shape;
  const hasBias = bias ?? inputs.length > (residual ? 3 : 2);
  return product({
    a: operand(0, 'row'),
    b: operand(1, 'row', half),
    M: N,
    N: w.shape[0],
    K: I,
    alpha,
    bias: hasBias ? { input: 2 } : null,
    residual: residual ? { input: hasBias ? 3 : 2 } : null,
  });
};

/** [dy [N, O], w [O, I], r [N, I] (optional)] → [dx [N, I]] */
export const linearInputGradWgsl: Wgsl<ProductAttributes> = ([dy], [dx], { residual, alpha = 1, half }) => {
  const [N, O] = dy.shape;
  return product({
    a: operand(0, 'row'),
    b: operand(1, 'column', half),
    M: N,
    N: dx.shape[1],
    K: O,
    alpha,
    residual: residual ? { input: 2 } : null,
  });
};

/** dyᵀ·x, for dy [N, O] and x [N, I]. */
const weightGrad = ([dy, x]: readonly TensorSpec[], rest: Partial<Product> & { alpha: number }) => {
  const [N, O] = dy.shape;
  return product({
    a: operand(0, 'column'),
    b: operand(1, 'column'),
    M: O,
    N: x.shape[1],
    K: N,
    ...rest,
  });
};

/** [dy [N, O], x [N, I]] → [dw [O, I]] */
export const linearWeightGradWgsl: Wgsl<WeightGradAttributes> = (inputs, _, { alpha = 1 }) =>
  weightGrad(inputs, { alpha });

/** [dy [N, O], x [N, I], dw [O, I], db [O] (optional)] → nothing; dw and db change in place. */
export const linearWeightGradAddWgsl: Wgsl<WeightGradAttributes> = (inputs, _, { alpha = 1, bias }) =>
  weightGrad(inputs, {
    alpha,
    out: { input: 2 },
    add: true,
    sums: (bias ?? inputs.length > 3) ? { input: 3 } : null,
  });
