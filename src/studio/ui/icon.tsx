/** The few icons of the page: strokes on a grid of 16, in the colour of the text. */

const PATHS = {
  recipe: 'M3 3h10v10H3z M6 6h4M6 8h4M6 10h2',
  live: 'M1.5 9h3l2-5 3 9 2-6 1 2h2',
  trajectories: 'M8 1.5v3M8 4.5C8 7 4 6 4 8.5S8 10 8 12.5M8 4.5C8 7 12 6 12 8.5S8 10 8 12.5v2',
  data: 'M2.5 4c0-3 11-3 11 0v8c0 3-11 3-11 0z M2.5 4c0 3 11 3 11 0M2.5 8c0 3 11 3 11 0',
  models: 'M8 1.5l6 3v7l-6 3-6-3v-7z M2 4.5l6 3 6-3M8 7.5v7',
  ask: 'M2 2.5h12v8H8l-3.5 3v-3H2z M6.5 5.5c0-2 3-2 3 0 0 1.2-1.5 1-1.5 2.2M8 9v.1',
  runs: 'M2 4h2M6 4h8M2 8h2M6 8h8M2 12h2M6 12h8',
  play: 'M4.5 3l8 5-8 5z',
  pause: 'M5.5 3v10M10.5 3v10',
  step: 'M3.5 3l6 5-6 5z M12 3v10',
  stop: 'M3.5 3.5h9v9h-9z',
  close: 'M4 4l8 8M12 4l-8 8',
  chart: 'M2 2v12h12 M4.5 10l3-3 2 2 4-5',
  table: 'M2 3h12v10H2z M2 6.5h12M2 10h12M6.5 3v10',
  download: 'M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10',
  upload: 'M8 10.5v-8M4.5 6L8 2.5 11.5 6M3 13.5h10',
  undo: 'M6 3L2.5 6.5 6 10M2.5 6.5H10c5 0 5 7 0 7H7',
  redo: 'M10 3l3.5 3.5L10 10M13.5 6.5H6c-5 0-5 7 0 7h3',
  link: 'M7 9L9 7M6 6.5L4 8.5C1 11.5 4.5 15 7.5 12L9 10.5M10 9.5L12 7.5C15 4.5 11.5 1 8.5 4L7 5.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5L14 14',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9',
  warning: 'M8 2l6.5 11.5h-13zM8 6.5v3.5M8 11.8v.1',
  plus: 'M8 3v10M3 8h10',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: whoever uses it names the button. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
