/** One calm theme: a green that is not a signal, generous radii, few lines. */
import {
  Card,
  type CSSVariablesResolver,
  createTheme,
  darken,
  type MantineColorsTuple,
  Notification,
} from '@mantine/core';

const pine: MantineColorsTuple = [
  '#e9f6f3',
  '#d6ebe6',
  '#abd6cc',
  '#7dc0b1',
  '#58ae9b',
  '#40a28d',
  '#329c86',
  '#238873',
  '#177966',
  '#006956',
];

export const theme = createTheme({
  primaryColor: 'pine',
  colors: { pine },
  // White text on it has 5.3 : 1, in both schemes.
  primaryShade: 8,
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  components: {
    Card: Card.extend({ defaultProps: { radius: 'lg', padding: 'md', withBorder: true } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
  },
});

/** Text on a tint of its own colour (light badges, buttons and alerts): Mantine's has 3 : 1, small text needs 4.5 : 1. */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: Object.fromEntries(
    Object.entries(colors).map(([name, shades]) => [
      `--mantine-color-${name}-light-color`,
      darken(shades[9], 0.35),
    ]),
  ),
  dark: {},
});
