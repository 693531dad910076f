/** Light, dark, or what the system says. */
import { ActionIcon, useMantineColorScheme } from '@mantine/core';

const SCHEMES = ['auto', 'light', 'dark'] as const;
const SCHEME_NAMES = { auto: 'system', light: 'light', dark: 'dark' } as const;
/** Sun, moon, and half of each for the system's choice. */
const SCHEME_ICONS = {
  auto: 'M8 2a6 6 0 0 0 0 12z',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  dark: 'M13.5 10A6 6 0 0 1 6 2.5a6 6 0 1 0 7.5 7.5z',
} as const;

export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const next = SCHEMES[(SCHEMES.indexOf(colorScheme) + 1) % SCHEMES.length];
  const label = `Theme: ${SCHEME_NAMES[colorScheme]}. Change to ${SCHEME_NAMES[next]}`;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={label}
      title={label}
      onClick={() => setColorScheme(next)}
    >
      <svg width="18" height="18" viewBox="0 0 16 16" strokeLinecap="round" aria-hidden="true">
        {colorScheme === 'auto' && (
          <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.4" />
        )}
        <path
          d={SCHEME_ICONS[colorScheme]}
          fill={colorScheme === 'auto' ? 'currentColor' : 'none'}
          stroke="currentColor"
          strokeWidth="1.4"
        />
      </svg>
    </ActionIcon>
  );
}
