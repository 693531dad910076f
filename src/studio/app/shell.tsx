/** The frame of every screen: where one can go, what runs, and the buttons that run it. */
import { AppShell, Badge, Text, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DeviceReport } from '../../worker/protocol.ts';
import { RunControls } from '../features/run-bar/run-controls.tsx';
import { hrefOf, SCREENS, type Screen, useRoute } from '../store/route.ts';
import { useStudio } from '../store/studio-store.ts';
import { Icon } from '../ui/icon.tsx';
import { SchemeSwitch } from './scheme-switch.tsx';
import './shell.css';

export const SCREEN_NAMES: Readonly<Record<Screen, string>> = {
  recipe: 'Recipe',
  live: 'Live',
  trajectories: 'Trajectories',
  data: 'Data',
  models: 'Models',
  ask: 'Ask',
  runs: 'Runs',
};

const STATE_WORDS = {
  idle: 'ready',
  loading: 'loading…',
  running: 'running',
  paused: 'paused',
  stopped: 'stopped',
  finished: 'finished',
  failed: 'failed',
} as const;

/** Rail on the left, bar at the bottom of a narrow screen: the same links. */
function Links({ place }: { place: 'rail' | 'bar' }) {
  const { screen } = useRoute();
  return (
    <nav className={`links links-${place}`} aria-label={place === 'rail' ? 'Screens' : 'Screens, below'}>
      {SCREENS.map((one) => (
        <UnstyledButton
          key={one}
          component="a"
          href={hrefOf(one)}
          className="link"
          aria-current={one === screen ? 'page' : undefined}
          data-testid={place === 'rail' ? `go-${one}` : undefined}
        >
          <Icon name={one} size={place === 'rail' ? 18 : 20} />
          <span>{SCREEN_NAMES[one]}</span>
        </UnstyledButton>
      ))}
    </nav>
  );
}

/** What the engine found out about its device, for those who ask. */
function deviceDetails({ features, kernels }: DeviceReport): string {
  const checked = kernels
    ? [`${kernels.style} kernels, ${kernels.checked} checked against their references`]
    : [];
  return [...features, ...checked].join(', ');
}

/** Where the run stands: its stage and how much of it is done. */
function Standing() {
  const text = useStudio(({ recipe, stages, current }) => {
    const stage = stages[current];
    if (!recipe) return '';
    return stage ? `${stage.name} · ${stage.done} of ${stage.steps}` : recipe.name;
  });
  const share = useStudio(({ stages }) => {
    const all = stages.reduce((sum, stage) => sum + stage.steps, 0);
    return all > 0 ? stages.reduce((sum, stage) => sum + stage.done, 0) / all : 0;
  });
  return (
    <>
      <Text size="sm" c="dimmed" truncate className="standing" visibleFrom="sm">
        {text}
      </Text>
      <div className="run-line" style={{ width: `${100 * share}%` }} aria-hidden="true" />
    </>
  );
}

function Header() {
  const device = useStudio((state) => state.device);
  const run = useStudio((state) => state.run);
  const compiling = useStudio((state) => state.compiling);
  return (
    <>
      <a href={hrefOf('live')} className="brand" aria-label="Polypath, live view">
        <img src="./icon.svg" width="30" height="30" alt="" />
        <span>Polypath</span>
      </a>
      <Standing />
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
          <Badge
            data-testid="device"
            variant="default"
            tt="none"
            size="lg"
            title={deviceDetails(device)}
            className="device"
          >
            {device.backend} · {device.name}
          </Badge>
        )}
      </div>
      <RunControls />
      <SchemeSwitch />
    </>
  );
}

export function Shell({ children }: { children: ReactNode }) {
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 176, breakpoint: 'sm', collapsed: { mobile: true } }}
      footer={{ height: { base: 58, sm: 0 } }}
      padding={{ base: 'sm', sm: 'lg' }}
      withBorder={false}
    >
      <AppShell.Header className="header">
        <Header />
      </AppShell.Header>
      <AppShell.Navbar className="rail">
        <Links place="rail" />
      </AppShell.Navbar>
      <AppShell.Main>
        <div className="screen">{children}</div>
      </AppShell.Main>
      <AppShell.Footer hiddenFrom="sm">
        <Links place="bar" />
      </AppShell.Footer>
    </AppShell>
  );
}
