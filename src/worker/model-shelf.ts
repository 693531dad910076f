/** What the worker does with models from elsewhere: take dropped files, fetch from the Hub, keep, list, open, delete. */
import { UserError } from '../base/assert.ts';
import type { NamedBlob, ReadOptions } from '../engine/model/blobs.ts';
import { fetchHubModel, type HubName, hubFolder, parseHubName } from '../engine/model/hub.ts';
import { keptFiles, readManifest } from '../engine/model/model-files.ts';
import type { Recipe } from '../engine/train/recipe.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import { loadModelFiles, requireModel } from './model-loading.ts';
import type { ModelStore } from './model-store.ts';
import type { EngineEvent } from './protocol.ts';

type ModelEvent = Extract<EngineEvent, { type: 'model' | 'models' | 'model-progress' | 'notice' }>;
type Phase = Extract<EngineEvent, { type: 'model-progress' }>['phase'];

/** At most so many progress events a second. */
const PROGRESS_MS = 100;

export interface ShelfOptions {
  /** Rejects with a UserError where nothing can be kept. */
  openStore(): Promise<ModelStore>;
  post(event: ModelEvent): void;
  fetch: typeof fetch;
  endpoint?: string;
  now?(): number;
}

export class ModelShelf {
  private droppedModel: LoadedModel | null = null;
  private hubModel: { folder: string; model: LoadedModel } | null = null;
  /** Kept in memory only. */
  private token: string | undefined;
  private work: AbortController | null = null;

  constructor(private readonly options: ShelfOptions) {}

  /** Reads the dropped files as a model, and keeps them for the next visit. */
  drop(files: readonly NamedBlob[]): Promise<void> {
    return this.alone(async (signal) => {
      const name = nameFor(files);
      const read = { ...this.reporter('read', name), signal };
      const { model, report } = await loadModelFiles(files, { source: 'dropped', name }, read);
      if (model) this.droppedModel = model;
      this.options.post({ type: 'model', report });
      if (model) await this.keep(name, files, signal);
    });
  }

  private async keep(name: string, files: readonly NamedBlob[], signal: AbortSignal): Promise<void> {
    try {
      const store = await this.options.openStore();
      await store.keepDropped(name, files, { ...this.reporter('keep', name), signal });
      await this.list();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      // The model is loaded all the same.
      this.options.post({
        type: 'notice',
        message: `${name} is loaded, but not kept for the next visit. ${error.message}`,
      });
    }
  }

  /** Downloads a model of the Hub if it is not there yet, and loads it. */
  async hub(text: string, revision?: string, token?: string): Promise<void> {
    if (token !== undefined) this.token = token.trim() || undefined;
    const name = parseHubName(text, revision);
    await this.alone(async (signal) => {
      const { report } = await this.loadHubModel(name, signal, true);
      this.options.post({ type: 'model', report });
      await this.list();
    });
  }

  /** For a run whose recipe names a model of the Hub. */
  async loadHub(text: string, revision?: string): Promise<LoadedModel> {
    const name = parseHubName(text, revision);
    if (this.hubModel?.folder === hubFolder(name)) return this.hubModel.model;
    const { model, report } = await this.alone((signal) => this.loadHubModel(name, signal, false));
    if (!model) throw new UserError(report.message);
    return model;
  }

  private async loadHubModel(name: HubName, signal: AbortSignal, again: boolean) {
    const store = await this.options.openStore();
    const folder = hubFolder(name);
    const old = again ? await readManifest(store.parts, folder) : null;
    // The browser may have thrown parts away; then the model is fetched anew.
    if (old && !(await keptFiles(store.parts, old))) await store.delete(folder);
    const manifest = await fetchHubModel(name, {
      store: store.parts,
      fetch: this.options.fetch,
      endpoint: this.options.endpoint,
      token: this.token,
      signal,
      ...this.reporter('download', name.id),
    });
    const { files } = await store.files(manifest.id);
    const read = { ...this.reporter('read', name.id), signal };
    const loaded = await loadModelFiles(files, { source: 'hub', name: name.id }, read);
    if (loaded.model) this.hubModel = { folder, model: loaded.model };
    return loaded;
  }

  /** Makes a kept model the one that `dropped` recipes start from. */
  open(id: string): Promise<void> {
    return this.alone(async (signal) => {
      const { manifest, files } = await (await this.options.openStore()).files(id);
      const read = { ...this.reporter('read', manifest.name), signal };
      const { model, report } = await loadModelFiles(files, manifest, read);
      if (model) this.droppedModel = model;
      this.options.post({ type: 'model', report });
    });
  }

  /** The dropped model, after a reload from the files that were kept; null if there is none. */
  async dropped(recipe: Pick<Recipe, 'model'>): Promise<LoadedModel | null> {
    if (this.droppedModel || recipe.model.source !== 'dropped') return this.droppedModel;
    const store = await this.options.openStore().catch(() => null);
    const last = (await store?.lastDropped()) ?? null;
    if (!store || !last) return null;
    const { files } = await store.files(last.id);
    this.droppedModel = await this.alone((signal) =>
      requireModel(files, last, { ...this.reporter('read', last.name), signal }),
    );
    return this.droppedModel;
  }

  async list(): Promise<void> {
    this.options.post({ type: 'models', models: await (await this.options.openStore()).list() });
  }

  async delete(id: string): Promise<void> {
    await (await this.options.openStore()).delete(id);
    if (this.hubModel?.folder === id) this.hubModel = null;
    await this.list();
  }

  /** Ends a download or an import. What is downloaded already stays, and the next try goes on from it. */
  cancel(): void {
    this.work?.abort(new UserError('The loading of the model was cancelled.'));
  }

  private async alone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.work) throw new UserError('A model is being loaded already. Wait for it, or cancel it first.');
    this.work = new AbortController();
    try {
      return await work(this.work.signal);
    } finally {
      this.work = null;
    }
  }

  private reporter(phase: Phase, name: string): Required<Pick<ReadOptions, 'progress'>> {
    let last = Number.NEGATIVE_INFINITY;
    return {
      progress: (done, all) => {
        const now = (this.options.now ?? Date.now)();
        if (done < all && now - last < PROGRESS_MS) return;
        last = now;
        this.options.post({ type: 'model-progress', phase, name, done, all });
      },
    };
  }
}

/** The folder's name, else that of the file with the weights. */
function nameFor(files: readonly NamedBlob[]): string {
  const folder = files[0]?.path.includes('/') ? files[0].path.split('/')[0] : null;
  if (folder) return folder;
  const largest = [...files].sort((a, b) => b.blob.size - a.blob.size)[0];
  return largest?.path ?? 'model';
}
