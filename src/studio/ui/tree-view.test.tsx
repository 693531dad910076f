// @vitest-environment jsdom
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import type { RolloutTree, Segment } from '../../worker/protocol.ts';
import { storeys, TreeView } from './tree-view.tsx';

const segment = (
  kind: Segment['kind'],
  block: number,
  path: number,
  text: string,
  open = false,
): Segment => ({
  kind,
  block,
  path,
  text,
  tokens: 1,
  open,
});

const tree: RolloutTree = {
  segments: [
    segment('trunk', 0, 0, 'a'),
    segment('path', 1, 1, 'b'),
    segment('path', 1, 2, ''),
    segment('summary', 1, 0, 's'),
    segment('path', 2, 1, 'c'),
    segment('path', 2, 2, 'd', true),
    segment('trunk', 0, 0, 'Final Answer: 8'),
  ],
  blocks: [],
};

test('storeys gather the paths of each block with its summary', () => {
  const levels = storeys(tree);
  expect(levels.map(({ kind }) => kind)).toEqual(['trunk', 'block', 'block', 'trunk']);
  expect(levels[1]).toMatchObject({ block: 1, paths: [{ text: 'b' }, { text: '' }], summary: { text: 's' } });
  expect(levels[2]).toMatchObject({ block: 2, paths: [{ text: 'c' }, { text: 'd' }], summary: null });
});

test('the drawing shows every path, the joins, what is empty, what is open, and the answer', () => {
  const html = renderToStaticMarkup(<TreeView tree={tree} label="x" />);
  expect(html.match(/data-testid="tree-path"/g)).toHaveLength(4);
  expect(html.match(/data-testid="tree-join"/g)).toHaveLength(1);
  expect(html.match(/tree-empty/g)).toHaveLength(1);
  expect(html.match(/tree-cursor/g)).toHaveLength(1);
  expect(html).toMatch(/tree-answer.*<b>8<\/b>/);
});

test('eight paths each keep the width to be read in', () => {
  const segments = Array.from({ length: 8 }, (_, i) => segment('path', 1, i + 1, '+20=20'));
  const html = renderToStaticMarkup(<TreeView tree={{ segments, blocks: [] }} label="x" />);
  expect(html).toContain('min-width:56rem');
  expect(html).toContain('repeat(8, minmax(0, 1fr))');
});
