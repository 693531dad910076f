import { Rng } from '../../../../base/rng.ts';
import { f32, i32, normals, type OpCase } from '../../testing.ts';
import { sideBySide } from '../rope-attention/packed-attention.cases.ts';
import { rotationTables } from '../rope-attention/rope-attention.cases.ts';
import type { CachedAttentionAttributes } from './cached-attention.reference.ts';

interface Lane {
  row: number;
  /** Slot within the row. */
  slot: number;
  branch: number;
  position: number;
}

/** Lanes of one row, one after the other from `slot` on. */
function run(row: number, slot: number, length: number, branch: number, position: number): Lane[] {
  return Array.from({ length }, (_, i) => ({ row, slot: slot + i, branch, position: position + i }));
}

interface Layout {
  name: string;
  rows: number;
  slotsPerRow: number;
  shape: { H: number; Hkv: number; D: number };
  lanes: Lane[];
  /** Branch codes that the cache holds before the call, by row. */
  cached: (row: number, slot: number) => number;
}

const TRUNK = () => 0;
const path = (block: number, k: number) => 16 * block + k;

const LAYOUTS: Layout[] = [
  {
    name: 'one lane, first slot',
    rows: 1,
    slotsPerRow: 4,
    shape: { H: 1, Hkv: 1, D: 12 },
    lanes: run(0, 0, 1, 0, 0),
    cached: TRUNK,
  },
  {
    name: 'a prompt at once, next to a row that goes on',
    rows: 2,
    slotsPerRow: 20,
    shape: { H: 4, Hkv: 2, D: 12 },
    lanes: [...run(0, 0, 9, 0, 0), ...run(1, 15, 1, 0, 15)],
    cached: TRUNK,
  },
  {
    name: 'three paths that alternate, GQA, D not a multiple of 4',
    rows: 2,
    slotsPerRow: 31,
    shape: { H: 3, Hkv: 1, D: 10 },
    lanes: [1, 2, 3].map((k) => ({ row: 1, slot: 26 + k, branch: path(2, k), position: 17 })),
    cached: (_, slot) =>
      slot < 6 ? 0 : slot < 14 ? path(1, 1 + (slot % 2)) : slot < 18 ? 0 : path(2, 1 + (slot % 3)),
  },
  {
    name: 'many lanes, trees of 25 rows',
    rows: 25,
    slotsPerRow: 9,
    shape: { H: 4, Hkv: 2, D: 16 },
    lanes: Array.from({ length: 75 }, (_, i) => ({
      row: Math.floor(i / 3),
      slot: (Math.floor(i / 3) % 6) + (i % 3),
      branch: path(1, 1 + (i % 3)),
      position: 3,
    })),
    cached: TRUNK,
  },
  {
    name: 'more than 256 slots',
    rows: 2,
    slotsPerRow: 600,
    shape: { H: 2, Hkv: 2, D: 64 },
    lanes: [...run(0, 599, 1, 0, 90), ...run(1, 300, 2, path(1, 1), 50)],
    cached: (row, slot) => (row === 1 && slot > 40 ? path(1, 1 + (slot % 2)) : 0),
  },
];

export function cachedAttentionCases(): OpCase<CachedAttentionAttributes>[] {
  return LAYOUTS.map(({ name, rows, slotsPerRow, shape, lanes, cached }) => {
    const { H, Hkv, D } = shape;
    const N = lanes.length;
    const S = rows * slotsPerRow;
    const rng = new Rng(16, N, D);
    const column = (value: (lane: Lane) => number) => i32([N], lanes.map(value));
    return {
      name,
      attributes: { slotsPerRow, ...shape },
      inputs: [
        normals(rng, [N, H * D]),
        normals(rng, [N, Hkv * D]),
        normals(rng, [N, Hkv * D]),
        normals(rng, [S, Hkv * D]),
        normals(rng, [S, Hkv * D]),
        i32(
          [S],
          Array.from({ length: S }, (_, s) => cached(Math.floor(s / slotsPerRow), s % slotsPerRow)),
        ),
        ...rotationTables(D),
        column((lane) => lane.position),
        column((lane) => lane.branch),
        column((lane) => lane.row * slotsPerRow + lane.slot),
      ],
    };
  });
}

/** The same packed, in a lane table that is wider than the lanes, with an idle lane first and two at the end. */
export function cachedAttentionPackedCases(): OpCase<CachedAttentionAttributes>[] {
  return cachedAttentionCases().map(({ name, attributes, inputs }) => {
    const [q, k, v, cacheK, cacheV, cacheBranches, cos, sin, ...lanes] = inputs;
    const idle = (rows: number) => normals(new Rng(18), [rows, qkv.shape[1]]).values;
    const qkv = sideBySide([q, k, v]);
    const [N, width] = qkv.shape;
    const stride = N + 8;
    const planes = lanes.flatMap(({ values }, plane) => {
      const none = plane === 2 ? -1 : 0;
      return [none, ...values, ...Array<number>(stride - N - 1).fill(none)];
    });
    return {
      name,
      attributes,
      inputs: [
        f32([N + 3, width], [...idle(1), ...qkv.values, ...idle(2)]),
        cacheK,
        cacheV,
        cacheBranches,
        cos,
        sin,
        i32([3, stride], planes),
      ],
    };
  });
}
