/** The page: a header, the run bar, and what the run shows. */
import {
  ActionIcon,
  Alert,
  Badge,
  Box,
  Container,
  Grid,
  Group,
  MantineProvider,
  Stack,
  Text,
  Title,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import { useEffect } from 'react';
import { Curves } from '../features/curves/curves.tsx';
import { DataPanel, DropVeil } from '../features/data/data-panel.tsx';
import { CurrentGroup, LastRollouts } from '../features/rollouts/rollouts.tsx';
import { RunBar } from '../features/run-bar/run-bar.tsx';
import { StageList } from '../features/stages/stage-list.tsx';
import { Welcome } from '../features/welcome/welcome.tsx';
import { clearError, clearNotice, useStudio } from '../store/studio-store.ts';
import { theme } from './theme.ts';

const STATE_WORDS = {
  idle: 'ready',
  loading: 'loading…',
  running: 'running',
  paused: 'paused',
  stopped: 'stopped',
  finished: 'finished',
  failed: 'failed',
} as const;

function SchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={`Use the ${other} theme`}
      onClick={() => setColorScheme(other)}
    >
      {scheme === 'dark' ? '☀' : '☾'}
    </ActionIcon>
  );
}

function Header() {
  const device = useStudio((state) => state.device);
  const run = useStudio((state) => state.run);
  return (
    <Group component="header" justify="space-between" align="flex-start" wrap="wrap" gap="sm">
      <Group gap="sm" wrap="nowrap" align="center">
        <img src="./icon.svg" width="36" height="36" alt="" />
        <div>
          <Title order={1} size="h3">
            Polypath
          </Title>
          <Text size="sm" c="dimmed">
            Teach a small language model to think in parallel, in your browser
          </Text>
        </div>
      </Group>
      <Group gap="xs">
        <Badge
          data-testid="state"
          variant="light"
          aria-live="polite"
          tt="none"
          size="lg"
          color={run === 'failed' ? 'red' : undefined}
        >
          {STATE_WORDS[run]}
        </Badge>
        {device && (
          <Badge
            data-testid="device"
            variant="default"
            tt="none"
            size="lg"
            title={device.features.join(', ')}
          >
            {device.backend} · {device.name}
          </Badge>
        )}
        <SchemeSwitch />
      </Group>
    </Group>
  );
}

function Messages() {
  const error = useStudio((state) => state.error);
  const notice = useStudio((state) => state.notice);
  const device = useStudio((state) => state.device?.notice ?? null);
  useEffect(() => {
    if (!notice) return;
    notifications.show({ message: notice });
    clearNotice();
  }, [notice]);
  return (
    <>
      {error && (
        <Alert
          data-testid="error"
          color="red"
          variant="light"
          role="alert"
          withCloseButton
          onClose={clearError}
          closeButtonLabel="Close"
        >
          {error}
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
        <Box component="main">
          {started ? (
            <Grid gap="md">
              <Grid.Col span={{ base: 12, md: 3 }}>
                <Stack gap="md">
                  <Text size="sm" c="dimmed">
                    {name} · {parameters.toLocaleString('en')} parameters
                  </Text>
                  <StageList />
                </Stack>
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 9 }}>
                <Stack gap="md">
                  <CurrentGroup />
                  <Curves />
                  <LastRollouts />
                  <DataPanel />
                </Stack>
              </Grid.Col>
            </Grid>
          ) : (
            <Stack gap="md">
              <Welcome />
              <DataPanel />
            </Stack>
          )}
        </Box>
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
