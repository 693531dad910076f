/**
 * WGSL texts of the attention kernels in the direct style: no workgroup memory, no barriers. Four neighbouring threads
 * walk over the same keys (or queries) in step, so that software WebGPU, which runs threads four at a time, loads each
 * of them once; a thread holds a few queries (or keys) of its own in registers, against which every load is used.
 * Heads are unrolled vec4 by vec4 in the text.
 */
import { branchFunctions, type HeadShape, times4 } from './rope-attention.tiles.ts';

/** Threads that walk together. */
const LANES = 4;
/** Threads of a workgroup. */
export const SIZE = 16;

/** Longest head that is kept in registers, in vec4s. */
export const MOST_VECTORS = 16;

/**
 * Tokens that belong to a thread: many make the most of every load, but texts that hold more than 16 vec4s of them take
 * SwiftShader seconds to compile.
 */
const MOST = { attend: 4, queryGrad: 4, keyGrad: 3 };
export const runOf = (kernel: keyof typeof MOST, { vectors }: HeadShape): number =>
  Math.max(1, Math.min(MOST[kernel], Math.floor(16 / vectors)));

/** Workgroups for `rows` rows of T tokens, `run` tokens a thread. */
export const directGroups = (rows: number, T: number, run: number): number =>
  Math.ceil((rows * LANES * Math.ceil(T / (LANES * run))) / SIZE);

export const repeat = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join('\n');

/** Entry point. The thread's tokens are start + lane · run + 0, 1, …; the block of the lanes together begins at start. */
const head = (run: number, heads: string) => /* wgsl */ `
fn code_of(base: u32, i: u32) -> u32 {
  if (i >= u.T) { return PADDING_SEGMENT << 16u; }
  return u32(branches[base + i]);
}
@compute @workgroup_size(${SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_group(group, groups) * ${SIZE}u + t;
  let lane = id % ${LANES}u;
  let blocks = (u.T + ${LANES * run - 1}u) / ${LANES * run}u;
  let start = id / ${LANES}u % blocks * ${LANES * run}u;
  let row = id / ${LANES}u / blocks;
  if (row >= u.B * ${heads}) { return; }
  let base = row / ${heads} * u.T;`;

/** Tokens of the thread: number, place (clamped) and branch code. */
const own = (run: number) =>
  repeat(
    run,
    (r) => /* wgsl */ `
  let i${r} = start + lane * ${run}u + ${r}u;
  let n${r} = base + min(i${r}, u.T - 1u);
  let code${r} = code_of(base, i${r});`,
  );

/** Repeats a text for all vec4s of the thread's vectors. */
export const own4 = ({ vectors }: HeadShape, run: number, text: (r: number, c: number) => string) =>
  repeat(run, (r) => repeat(vectors, (c) => text(r, c)));

// Key blocks of four from the last query back; the walk ends at the first whose last key is of another example than
// the first query (examples lie one after the other in a row).
const keyLoop = (run: number) => /* wgsl */ `
  let g = h / (u.H / u.HKV);
  let segment = code_of(base, start) >> 16u;
  let last = (min(start + ${LANES * run}u, u.T) - 1u) / 4u;
  for (var back = 0u; back <= last; back++) {
    let j0 = (last - back) * 4u;
    let keys = vec4<u32>(j0) + vec4<u32>(0u, 1u, 2u, 3u);
    let codes = vec4<u32>(
      code_of(base, j0), code_of(base, j0 + 1u), code_of(base, j0 + 2u), code_of(base, j0 + 3u));
    if (j0 + 3u < start && codes.w >> 16u != segment) { break; }
    let at = ((vec4<u32>(base) + min(keys, vec4<u32>(u.T - 1u))) * u.HKV + g) * VECTORS;`;

/** Four vectors of k or v: `<name><j>_<c>`. */
const load4 = ({ vectors }: HeadShape, name: string) =>
  repeat(vectors, (c) => times4((j) => `let ${name}${j}_${c} = ${name}[at[${j}] + ${c}u];`));

/** Scores of the thread's vectors `a` against four loaded ones: vec4s `<s><r>`. */
const score4 = ({ vectors }: HeadShape, run: number, s: string, a: string, b: string) =>
  repeat(run, (r) =>
    repeat(vectors, (c) => {
      const dots = [0, 1, 2, 3].map((j) => `dot(${a}${r}_${c}, ${b}${j}_${c})`).join(', ');
      const sum = `vec4<f32>(${dots})`;
      return c === 0 ? `var ${s}${r} = ${sum};` : `${s}${r} += ${sum};`;
    }),
  );

const combine = (p: string, b: string, c: number) =>
  `${p}.x * ${b}0_${c} + ${p}.y * ${b}1_${c} + ${p}.z * ${b}2_${c} + ${p}.w * ${b}3_${c}`;

const seen = (r: number) =>
  `let seen${r} = (keys <= vec4<u32>(i${r})) & branch_sees(vec4<u32>(code${r}), codes);`;

/** Declarations of the online softmax: largest score, sum and accumulator of each of the thread's queries. */
export const softmaxState = (shape: HeadShape, run: number) => /* wgsl */ `
  ${repeat(run, (r) => `var m${r} = HIDDEN;\n var l${r} = 0.0;`)}
  ${own4(shape, run, (r, c) => `var acc${r}_${c} = vec4<f32>();`)}`;

/** One step of it over four keys, whose vectors begin at `at`; query r sees those of `seen<r>`. */
export const softmaxStep = (shape: HeadShape, run: number) => /* wgsl */ `
    ${load4(shape, 'k')}
    ${score4(shape, run, 's', 'q', 'k')}
    ${repeat(
      run,
      (r) => /* wgsl */ `
    s${r} = select(vec4<f32>(HIDDEN), s${r}, seen${r});
    let m_new${r} = max(m${r}, max(max(s${r}.x, s${r}.y), max(s${r}.z, s${r}.w)));
    let shrink${r} = exp(m${r} - m_new${r});
    m${r} = m_new${r};
    let p${r} = select(vec4<f32>(), exp(s${r} - m_new${r}), seen${r});
    l${r} = l${r} * shrink${r} + p${r}.x + p${r}.y + p${r}.z + p${r}.w;`,
    )}
    ${load4(shape, 'v')}
    ${own4(shape, run, (r, c) => `acc${r}_${c} = acc${r}_${c} * shrink${r} + ${combine(`p${r}`, 'v', c)};`)}`;

/** Log-sum-exps go to `lse`, or to `stats` as pairs with room for Δ. */
export function directAttendBody(shape: HeadShape, to: 'lse' | 'stats'): string {
  const run = runOf('attend', shape);
  return /* wgsl */ `
${branchFunctions}
const HIDDEN = f32(-1e30);
${head(run, 'u.H')}
  let h = row % u.H;
  ${own(run)}
  ${own4(shape, run, (r, c) => `let q${r}_${c} = q[(n${r} * u.H + h) * VECTORS + ${c}u];`)}
  ${softmaxState(shape, run)}
  ${keyLoop(run)}
    ${repeat(run, seen)}
    ${softmaxStep(shape, run)}
  }
  ${repeat(
    run,
    (r) => /* wgsl */ `
  if (i${r} < u.T) {
    let any = l${r} > 0.0;
    let inverse = select(0.0, 1.0 / l${r}, any);
    let lse${r} = select(0.0, m${r} + log(l${r}), any);
    ${to}[n${r} * u.H + h] = ${to === 'lse' ? `lse${r}` : `vec2<f32>(lse${r}, 0.0)`};
    ${repeat(shape.vectors, (c) => `out[(n${r} * u.H + h) * VECTORS + ${c}u] = acc${r}_${c} * inverse;`)}
  }`,
  )}
}
`;
}

/** Reads Δ from `stats`, or makes it from `out` and stores it there. */
export function directQueryGradBody(shape: HeadShape, delta: 'read' | 'made'): string {
  const run = runOf('queryGrad', shape);
  return /* wgsl */ `
${branchFunctions}
${head(run, 'u.H')}
  let h = row % u.H;
  ${own(run)}
  ${repeat(run, (r) => `let stat${r} = stats[n${r} * u.H + h];\n let lse${r} = stat${r}.x;`)}
  ${repeat(run, (r) => `var delta${r} = ${delta === 'made' ? '0.0' : `stat${r}.y`};`)}
  ${own4(
    shape,
    run,
    (r, c) => /* wgsl */ `
  let q${r}_${c} = q[(n${r} * u.H + h) * VECTORS + ${c}u];
  let d${r}_${c} = dout[(n${r} * u.H + h) * VECTORS + ${c}u];
  ${delta === 'made' ? `delta${r} += dot(d${r}_${c}, out[(n${r} * u.H + h) * VECTORS + ${c}u]);` : ''}
  var acc${r}_${c} = vec4<f32>();`,
  )}
  ${keyLoop(run)}
    ${load4(shape, 'k')}
    ${load4(shape, 'v')}
    ${score4(shape, run, 's', 'q', 'k')}
    ${score4(shape, run, 'dp', 'd', 'v')}
    ${repeat(
      run,
      (r) => /* wgsl */ `
    ${seen(r)}
    let ds${r} = select(vec4<f32>(), exp(s${r} - lse${r}) * (dp${r} - delta${r}), seen${r});`,
    )}
    ${own4(shape, run, (r, c) => `acc${r}_${c} += ${combine(`ds${r}`, 'k', c)};`)}
  }
  ${repeat(
    run,
    (r) => /* wgsl */ `
  if (i${r} < u.T) {
    ${delta === 'made' ? `stats[n${r} * u.H + h].y = delta${r};` : ''}
    ${repeat(shape.vectors, (c) => `dq[(n${r} * u.H + h) * VECTORS + ${c}u] = acc${r}_${c};`)}
  }`,
  )}
}
`;
}

// The thread's tokens are keys here. Queries run forward from the block until one is of another example than its last
// key.
export function directKeyGradBody(shape: HeadShape): string {
  const run = runOf('keyGrad', shape);
  return /* wgsl */ `
${branchFunctions}
${head(run, 'u.HKV')}
  let g = row % u.HKV;
  ${own(run)}
  ${own4(
    shape,
    run,
    (r, c) => /* wgsl */ `
  let k${r}_${c} = k[(n${r} * u.HKV + g) * VECTORS + ${c}u];
  let v${r}_${c} = v[(n${r} * u.HKV + g) * VECTORS + ${c}u];
  var dk${r}_${c} = vec4<f32>();
  var dv${r}_${c} = vec4<f32>();`,
  )}
  let last = min(start + ${LANES * run - 1}u, u.T - 1u);
  let segment = code_of(base, last) >> 16u;
  for (var h = g * (u.H / u.HKV); h < (g + 1u) * (u.H / u.HKV); h++) {
    for (var i = start; i < u.T; i++) {
      let code = code_of(base, i);
      if (i > last && code >> 16u != segment) { break; }
      let at = (base + i) * u.H + h;
      let stat = stats[at];
      ${repeat(
        shape.vectors,
        (c) => /* wgsl */ `
      let q_${c} = q[at * VECTORS + ${c}u];
      let d_${c} = dout[at * VECTORS + ${c}u];`,
      )}
      ${repeat(run, (r) => {
        const sum = (a: string, b: string) =>
          Array.from({ length: shape.vectors }, (_, c) => `dot(${a}_${c}, ${b}${r}_${c})`).join(' + ');
        return /* wgsl */ `
      let seen${r} = i >= i${r} && branch_sees(vec4<u32>(code), vec4<u32>(code${r})).x;
      let p${r} = select(0.0, exp(${sum('q', 'k')} - stat.x), seen${r});
      let ds${r} = p${r} * (${sum('d', 'v')} - stat.y);`;
      })}
      ${own4(
        shape,
        run,
        (r, c) => /* wgsl */ `
      dk${r}_${c} += ds${r} * q_${c};
      dv${r}_${c} += p${r} * d_${c};`,
      )}
    }
  }
  ${repeat(
    run,
    (r) => /* wgsl */ `
  if (i${r} < u.T) {
    ${repeat(
      shape.vectors,
      (c) => /* wgsl */ `
    dk[(n${r} * u.HKV + g) * VECTORS + ${c}u] = dk${r}_${c};
    dv[(n${r} * u.HKV + g) * VECTORS + ${c}u] = dv${r}_${c};`,
    )}
  }`,
  )}
}
`;
}
