/** The page: the frame, the screen one is on, and what must be told on every screen. */
import { Alert, MantineProvider, Stack, VisuallyHidden } from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import { useEffect } from 'react';
import { DropVeil } from '../features/data/drop-veil.tsx';
import { ResumeBanner } from '../features/resume/resume-banner.tsx';
import { loadOffers, openRecipeLink } from '../store/recipe-draft.ts';
import { useRoute } from '../store/route.ts';
import { clearErrors, clearNotices, commands, showError, useStudio } from '../store/studio-store.ts';
import { SCREEN_VIEWS } from './screens.tsx';
import { SCREEN_NAMES, Shell } from './shell.tsx';
import { cssVariables, theme } from './theme.ts';
import './app.css';

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
  const { screen, params } = useRoute();
  const View = SCREEN_VIEWS[screen];
  useEffect(() => {
    loadOffers().catch((error: Error) => showError(error.message));
  }, []);
  useEffect(() => {
    try {
      openRecipeLink(params);
    } catch (error) {
      showError((error as Error).message);
    }
  }, [params]);
  useEffect(() => {
    // A page that is hidden may never be seen again: phones end it without a word.
    const save = () => document.visibilityState === 'hidden' && commands.save();
    document.addEventListener('visibilitychange', save);
    return () => document.removeEventListener('visibilitychange', save);
  }, []);
  useEffect(() => {
    document.title = `${SCREEN_NAMES[screen]} · Polypath`;
  }, [screen]);
  return (
    <Shell>
      <VisuallyHidden>
        <h1>{SCREEN_NAMES[screen]}</h1>
      </VisuallyHidden>
      <Messages />
      <ResumeBanner />
      <View />
      <DropVeil />
    </Shell>
  );
}

export function App() {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <Page />
    </MantineProvider>
  );
}
