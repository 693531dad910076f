/** WGSL form of add-norm and of the norm's gradient that adds to dw. */
import { flatGrid, kernelStyle, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { NormGradAddAttributes } from './add-norm.ts';
import { DIRECT_SIZE, normGradPasses, normPass, product, type Scalar, scalarFor } from './rms-norm.wgsl.ts';

/** [x [N, C], r [N, C], w [C]], {eps} → [sum [N, C], y [N, C], inv [N]] */
export const addNormWgsl: Wgsl<{ eps: number }> = ([{ shape }], _, { eps }) => ({
  passes: [
    normPass(shape, eps, {
      x: { input: 0 },
      w: { input: 2 },
      y: { output: 1 },
      inv: { output: 2 },
      residual: { r: { input: 1 }, sum: { output: 0 } },
    }),
  ],
});

// Both halves in one dispatch, since neither needs the other: the first workgroups go down the columns for dw, the
// others along the rows for dx.
const directBody = (scalar: Scalar, residual: boolean) => /* wgsl */ `
fn add_column(c: u32) {
  if (c >= COLUMNS) { return; }
  var sum = ${scalar}();
  for (var n = 0u; n < u.N; n++) { sum += dy[n * COLUMNS + c] * x[n * COLUMNS + c] * inv[n]; }
  dw[c] += sum;
}

fn row_grad(n: u32) {
  if (n >= u.N) { return; }
  let row = n * COLUMNS;
  var total = 0.0;
  for (var c = 0u; c < COLUMNS; c++) { total += ${product(scalar, 'dy[row + c] * w[c]', 'x[row + c]')}; }
  let scale = inv[n];
  let pull = total / f32(C) * scale * scale;
  for (var c = 0u; c < COLUMNS; c++) {
    dx[row + c] = scale * (dy[row + c] * w[c] - x[row + c] * pull)${residual ? ' + dres[row + c]' : ''};
  }
}

@compute @workgroup_size(${DIRECT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let g = flat_group(group, groups);
  if (g < COLUMN_GROUPS) {
    add_column(g * ${DIRECT_SIZE}u + t);
  } else {
    row_grad((g - COLUMN_GROUPS) * ${DIRECT_SIZE}u + t);
  }
}
`;

const bodies = new Map<string, string>();
function directForm(scalar: Scalar, residual: boolean): { name: string; body: string } {
  const name = `norm-grad-add${residual ? '-residual' : ''}-direct-${scalar}`;
  if (!bodies.has(name)) bodies.set(name, directBody(scalar, residual));
  return { name, body: bodies.get(name)! };
}

/** [dy [N, C], x [N, C], w [C], inv [N], dw [C], (dres [N, C])] → [dx [N, C]]; dw changes in place. */
export const normGradAddWgsl: Wgsl<NormGradAddAttributes> = ([, { shape }], _, { residual }) => {
  const dres = residual ? { input: 5 } : undefined;
  if (kernelStyle() === 'tiled') return normGradPasses(shape, { dw: { input: 4 }, add: true, dres });
  const [N, C] = shape;
  const scalar = scalarFor(C);
  const COLUMNS = scalar === 'f32' ? C : C / 4;
  const columnGroups = Math.ceil(COLUMNS / DIRECT_SIZE);
  return {
    passes: [
      {
        ...directForm(scalar, residual),
        constants: { C, COLUMNS, COLUMN_GROUPS: columnGroups },
        bindings: [
          read('dy', { input: 0 }, scalar),
          read('x', { input: 1 }, scalar),
          read('w', { input: 2 }, scalar),
          read('inv', { input: 3 }),
          write('dw', { input: 4 }, scalar),
          write('dx', { output: 0 }, scalar),
          ...(dres ? [read('dres', dres, scalar)] : []),
        ],
        uniforms: [u32('N', N)],
        workgroups: flatGrid(columnGroups + Math.ceil(N / DIRECT_SIZE)),
      },
    ],
  };
};
