import { describe, expect, test } from 'vitest';
import { Arena } from './arena.ts';

describe('arena', () => {
  test('tensors start at binding alignment, in order', () => {
    const arena = new Arena(
      [
        { name: 'a', shape: [3, 5] },
        { name: 'b', shape: [64] },
        { name: 'c', shape: [2, 32] },
      ],
      { maxBytes: 4096 },
      'test',
    );
    expect(arena.buffers).toHaveLength(1);
    expect(['a', 'b', 'c'].map((name) => arena.whole(name)!.offset)).toEqual([0, 256, 512]);
    expect(arena.bytes).toBe(768);
  });

  test('a tensor larger than a binding is split by rows, and buffers end where the next would not fit', () => {
    const arena = new Arena(
      [
        { name: 'small', shape: [100] },
        { name: 'large', shape: [10, 64] },
      ],
      { maxBytes: 1024 },
      'test',
    );
    expect(arena.whole('large')).toBeNull();
    const pieces = arena.all('large');
    expect(pieces.map(({ firstRow, shape }) => [firstRow, ...shape])).toEqual([
      [0, 4, 64],
      [4, 4, 64],
      [8, 2, 64],
    ]);
    expect(new Set(pieces.map(({ buffer }) => buffer)).size).toBe(3);
    for (const buffer of arena.buffers) expect(buffer.bytes).toBeLessThanOrEqual(1024);
    expect(
      arena
        .like('other')
        .all('large')
        .map(({ offset }) => offset),
    ).toEqual(pieces.map(({ offset }) => offset));
  });

  test('stacked: only what lies behind one another without a gap', () => {
    const arena = new Arena(
      [
        { name: 'q', shape: [4, 16] },
        { name: 'k', shape: [4, 16] },
        { name: 'odd', shape: [3, 3] },
        { name: 'v', shape: [4, 16] },
      ],
      { maxBytes: 4096 },
      'test',
    );
    expect(arena.stacked(['q', 'k'])).toMatchObject({ offset: 0, shape: [8, 16] });
    expect(arena.stacked(['k', 'q'])).toBeNull();
    expect(arena.stacked(['q', 'v'])).toBeNull();
    expect(arena.stacked(['odd', 'v'])).toBeNull();
  });
});
