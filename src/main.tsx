import { EngineClient } from './worker/engine-client.ts';
const client = new EngineClient();
Object.assign(window, { polypath: {
  start(recipe: unknown, options: any) { client.send({ type: 'init', backend: options.backend }); client.send({ type: 'start', recipe, options }); },
  onEvent: (fn: any) => client.subscribe(fn),
} });
