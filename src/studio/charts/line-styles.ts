/** Colours and dashes of lines: Okabe and Ito's, lighter ones on dark; dashes for eyes that do not tell colours apart. */

export const BLUE = 'light-dark(#0072b2, #56b4e9)';
export const ORANGE = 'light-dark(#d55e00, #e69f00)';
export const GREEN = 'light-dark(#009e73, #2fc79a)';
export const PINK = 'light-dark(#b0578d, #cc79a7)';

export const COLORS = [BLUE, ORANGE, GREEN, PINK] as const;
export const DASHES = [undefined, '6 3', '2 3', '8 3 2 3'] as const;

/** Colours of held-out sets, in order. */
export const SET_COLORS = [GREEN, ORANGE, PINK, BLUE] as const;

/** Of the lines of several runs, in order: eight that differ in colour or dash. */
export const LINE_STYLES: readonly { color: string; dash?: string }[] = DASHES.slice(0, 2).flatMap((dash) =>
  COLORS.map((color) => ({ color, dash })),
);
