/** The page: a header, the run bar, and what the run shows. */
import {
  ActionIcon,
  Alert,
  Badge,
  Container,
  MantineProvider,
  Stack,
  Text,
  Title,
  useMantineColorScheme,
} from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import { useEffect } from 'react';
import type { DeviceReport } from '../../worker/protocol.ts';
import { Curves } from '../features/curves/curves.tsx';
import { DataPanel, DropVeil } from '../features/data/data-panel.tsx';
import { ExperimentPanel } from '../features/experiment/experiment-panel.tsx';
import { CurrentGroup, LastRollouts } from '../features/rollouts/rollouts.tsx';
import { RunBar } from '../features/run-bar/run-bar.tsx';
import { StageList } from '../features/stages/stage-list.tsx';
import { Welcome } from '../features/welcome/welcome.tsx';
import { clearErrors, clearNotices, useStudio } from '../store/studio-store.ts';
import { theme } from './theme.ts';
import './app.css';

const STATE_WORDS = {
  idle: 'ready',
  loading: 'loading…',
  running: 'running',
  paused: 'paused',
  stopped: 'stopped',
  finished: 'finished',
  failed: 'failed',
} as const;

const SCHEMES = ['auto', 'light', 'dark'] as const;
const SCHEME_NAMES = { auto: 'system', light: 'light', dark: 'dark' } as const;
/** Sun, moon, and half of each for the system's choice. */
const SCHEME_ICONS = {
  auto: 'M8 2a6 6 0 0 0 0 12z',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  dark: 'M13.5 10A6 6 0 0 1 6 2.5a6 6 0 1 0 7.5 7.5z',
} as const;

function SchemeSwitch() {
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

function Header() {
  const device = useStudio((state) => state.device);
  const run = useStudio((state) => state.run);
  const compiling = useStudio((state) => state.compiling);
  return (
    <header className="header">
      <img src="./icon.svg" width="40" height="40" alt="" />
      <div className="header-name">
        <Title order={1} size="h3">
          Polypath
        </Title>
        <Text size="sm" c="dimmed">
          Teach a small language model to think in parallel, in your browser
        </Text>
      </div>
      <div className="header-state">
        <Badge
          data-testid="state"
          variant="light"
          role="status"
          aria-live="polite"
          tt="none"
          size="lg"
          color={run === 'failed' ? 'red' : undefined}
        >
          {compiling && run === 'running'
            ? `compiling kernels ${compiling.done} of ${compiling.all}`
            : STATE_WORDS[run]}
        </Badge>
        {device && (
          <Badge data-testid="device" variant="default" tt="none" size="lg" title={deviceDetails(device)}>
            {device.backend} · {device.name}
          </Badge>
        )}
      </div>
      <SchemeSwitch />
    </header>
  );
}

/** What the engine found out about its device, for those who ask. */
function deviceDetails({ features, kernels }: DeviceReport): string {
  const checked = kernels
    ? [`${kernels.style} kernels, ${kernels.checked} checked against their references`]
    : [];
  return [...features, ...checked].join(', ');
}

/** Before the first start nobody has asked for an adapter, but a browser that knows no WebGPU can be told at once. */
const noWebGpu =
  typeof navigator !== 'undefined' && !('gpu' in navigator)
    ? 'No WebGPU here, so training will run on the processor, slowly. Current Chrome, Edge, Safari and Firefox have it, on https:// pages and on localhost.'
    : null;

function Messages() {
  const errors = useStudio((state) => state.errors);
  const notices = useStudio((state) => state.notices);
  const device = useStudio((state) => (state.device ? state.device.notice : noWebGpu));
  useEffect(() => {
    if (notices.length === 0) return;
    for (const message of notices) notifications.show({ message });
    clearNotices();
  }, [notices]);
  return (
    <>
      {errors.length > 0 && (
        <Alert
          data-testid="error"
          color="red"
          variant="light"
          role="alert"
          withCloseButton
          onClose={clearErrors}
          closeButtonLabel="Close"
        >
          <Stack gap={6} className="error-list">
            {errors.map((error) => (
              <div key={error}>{error}</div>
            ))}
          </Stack>
        </Alert>
      )}
      {device && (
        <Alert data-testid="device-notice" color="yellow" variant="light" role="status">
          {device}
        </Alert>
      )}
    </>
  );
}

function Page() {
  const started = useStudio((state) => state.stages.length > 0);
  const parameters = useStudio((state) => state.parameters);
  const name = useStudio((state) => state.recipe?.name ?? '');
  return (
    <Container size={1680} py="lg" px={{ base: 'sm', sm: 'lg' }}>
      <Stack gap="lg">
        <Header />
        <RunBar />
        <Messages />
        <ExperimentPanel />
        {started ? (
          <main className="columns">
            <div className="column-stages">
              <Text size="sm" c="dimmed" mb="xs">
                {name} · {parameters.toLocaleString('en')} parameters
              </Text>
              <StageList />
            </div>
            <div className="column-live">
              <CurrentGroup />
              <Curves />
              <LastRollouts />
              <DataPanel />
            </div>
          </main>
        ) : (
          <Stack gap="md" component="main">
            <Welcome />
            <DataPanel />
          </Stack>
        )}
      </Stack>
      <DropVeil />
    </Container>
  );
}

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <Page />
    </MantineProvider>
  );
}
