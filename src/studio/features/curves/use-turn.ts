/**
 * The studio's state for views that are costly to draw. They take turns, one a tick: eight charts drawn together stop the
 * page for a quarter of a second on a slow machine, one alone does not.
 */
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { StudioState } from '../../store/studio-state.ts';
import { useStudio } from '../../store/studio-store.ts';

const TICK_MS = 90;

/** Draws if there is something new, and says whether it did. */
type Turn = () => boolean;

const turns: Turn[] = [];
let timer: ReturnType<typeof setInterval> | null = null;

/** Gives the turn to the first in line that has something to draw; it then goes to the end of the line. */
export function nextTurn(line: Turn[]): void {
  for (let i = 0; i < line.length; i++) {
    const turn = line.shift()!;
    line.push(turn);
    if (turn()) return;
  }
}

function enter(turn: Turn): () => void {
  turns.push(turn);
  timer ??= setInterval(() => nextTurn(turns), TICK_MS);
  return () => {
    turns.splice(turns.indexOf(turn), 1);
    if (turns.length > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** @returns the state as it was at this view's last turn, and the element to watch: what is not seen is not drawn */
export function useTurn(): [StudioState, RefObject<HTMLDivElement | null>] {
  const [state, setState] = useState(useStudio.getState);
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef(state);
  const seen = useRef(true);
  useEffect(
    () =>
      enter(() => {
        const next = useStudio.getState();
        const now = drawn.current;
        if (!seen.current || (now.version === next.version && now.stages.length === next.stages.length))
          return false;
        drawn.current = next;
        setState(next);
        return true;
      }),
    [],
  );
  useEffect(() => {
    if (!element.current || typeof IntersectionObserver === 'undefined') return;
    const observer = new IntersectionObserver(([entry]) => {
      seen.current = entry.isIntersecting;
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [state, element];
}
