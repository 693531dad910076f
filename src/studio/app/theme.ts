/** One calm theme: a green that is not a signal, generous radii, few lines. */
import { Card, createTheme, type MantineColorsTuple } from '@mantine/core';

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
  primaryShade: { light: 8, dark: 6 },
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
  components: {
    Card: Card.extend({ defaultProps: { radius: 'lg', padding: 'md', withBorder: true } }),
  },
});
