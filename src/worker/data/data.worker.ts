/** Reads data files beside the engine, so that a run goes on and the page responds while 500 MB are read. */
import { messageOf, UserError } from '../../base/assert.ts';
import { breathe } from '../breathe.ts';
import { OpfsDirectory } from '../run-store/directory.ts';
import { DataDesk } from './data-desk.ts';
import type { DataCommand } from './data-protocol.ts';
import { DataStore } from './data-store.ts';

const scope = self as unknown as DedicatedWorkerGlobalScope;

const desk = OpfsDirectory.root().then(
  (root) =>
    new DataDesk({
      store: root && new DataStore(root),
      post: (event) => scope.postMessage(event, event.type === 'data-table' ? [event.bytes] : []),
      breathe,
    }),
);

scope.onmessage = async ({ data }: MessageEvent<DataCommand>) => {
  try {
    await (await desk).handle(data);
  } catch (error) {
    if (!(error instanceof UserError)) console.error(error);
    const message =
      error instanceof UserError ? error.message : `The data could not be read: ${messageOf(error)}.`;
    scope.postMessage({ type: 'error', message, fatal: false });
  }
};
