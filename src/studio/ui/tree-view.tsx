/**
 * A rollout as a tree, drawn to be read: trunk, fork, paths side by side, join with its summary, trunk, answer. A pure
 * function of the tree; nodes that are still being written carry a cursor.
 */
import { memo } from 'react';
import type { RolloutTree, Segment } from '../../worker/protocol.ts';
import './tree-view.css';

/** One storey of the drawing. */
type Storey =
  | { kind: 'trunk'; segment: Segment }
  | { kind: 'block'; block: number; paths: Segment[]; summary: Segment | null };

/** Stretches in the order in which they stand, the paths of a block gathered with its summary. */
export function storeys(tree: RolloutTree): Storey[] {
  const out: Storey[] = [];
  for (const segment of tree.segments) {
    const last = out[out.length - 1];
    if (segment.kind === 'trunk') out.push({ kind: 'trunk', segment });
    else if (last?.kind === 'block' && last.block === segment.block) {
      if (segment.kind === 'path') last.paths.push(segment);
      else last.summary = segment;
    } else
      out.push({
        kind: 'block',
        block: segment.block,
        paths: segment.kind === 'path' ? [segment] : [],
        summary: segment.kind === 'summary' ? segment : null,
      });
  }
  return out;
}

/** Lines from one point to K, or back. */
function Branches({ paths, join }: { paths: number; join?: boolean }) {
  const ends = Array.from({ length: paths }, (_, i) => ((i + 0.5) / paths) * 100);
  return (
    <svg className="tree-branches" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
      {ends.map((x) => (
        <path key={x} d={join ? `M ${x} 0 C ${x} 10, 50 6, 50 16` : `M 50 0 C 50 10, ${x} 6, ${x} 16`} />
      ))}
    </svg>
  );
}

/** An answer at the end of a text; what a confused model writes behind the words is no answer. */
const ANSWER = /^(.*)(Final Answer:)\s*([^\s:<>=,]{1,12})$/s;

function Text({ segment }: { segment: Segment }) {
  const answer = segment.kind === 'trunk' ? ANSWER.exec(segment.text) : null;
  return (
    <>
      {answer ? (
        <>
          {answer[1]}
          <span className="tree-answer">
            {answer[2]} <b>{answer[3]}</b>
          </span>
        </>
      ) : (
        segment.text || (segment.open ? '' : <i className="tree-empty">empty</i>)
      )}
      {segment.open && <span className="tree-cursor" aria-hidden="true" />}
    </>
  );
}

/** Narrower than this a path is no longer read: a tree of many paths scrolls in its container instead. */
const PATH_REM = 7;

const widest = (levels: readonly Storey[]): number =>
  Math.max(1, ...levels.map((level) => (level.kind === 'block' ? level.paths.length : 1)));

export const TreeView = memo(function TreeView({ tree, label }: { tree: RolloutTree; label: string }) {
  const levels = storeys(tree);
  return (
    <section
      className="tree"
      data-testid="tree"
      aria-label={label}
      style={{ minWidth: `${widest(levels) * PATH_REM}rem` }}
    >
      {levels.length === 0 && <div className="tree-node tree-trunk tree-waiting">…</div>}
      {levels.map((level, i) =>
        level.kind === 'trunk' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: storeys are only ever appended
          <div key={i} className="tree-level">
            {i > 0 && <div className="tree-line" aria-hidden="true" />}
            <div className="tree-node tree-trunk">
              <Text segment={level.segment} />
            </div>
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: storeys are only ever appended
          <div key={i} className="tree-level">
            {i === 0 && <div className="tree-root" aria-hidden="true" />}
            <Branches paths={level.paths.length} />
            <div
              className="tree-paths"
              style={{ gridTemplateColumns: `repeat(${level.paths.length}, minmax(0, 1fr))` }}
            >
              {level.paths.map((path) => (
                <div
                  key={path.path}
                  className={`tree-node tree-path tree-path-${(path.path - 1) % 7}`}
                  data-testid="tree-path"
                >
                  <span className="tree-tag">path {path.path}</span>
                  <Text segment={path} />
                </div>
              ))}
            </div>
            {level.summary && (
              <div data-testid="tree-join">
                <Branches paths={level.paths.length} join />
                <div className="tree-node tree-summary">
                  <span className="tree-tag">summary</span>
                  <Text segment={level.summary} />
                </div>
              </div>
            )}
          </div>
        ),
      )}
    </section>
  );
});
