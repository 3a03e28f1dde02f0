import { composingModels } from '../../triton/config/ensemble-rules.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { ModelIndexEntry, ModelMetadata, ModelStatistics } from '../../triton/types.ts';
import type { Meddling } from '../faults.ts';
import { readPostedConfig } from '../profile/posted-config.ts';
import { notPolled, ProtocolFailure } from '../wire/protocol-failure.ts';
import { tensorMetadata } from '../wire/tensors.ts';
import type { LoadSource, ModelEntry } from './model-entry.ts';
import type { Servable } from './servable.ts';
import { chosenVersion, NO_FILES, type UploadedFiles } from './uploaded-files.ts';

/** As `--model-control-mode` of Triton. */
export type ControlMode = 'explicit' | 'none' | 'poll';

/** The models of one emulator by name, and Triton's answers to what clients ask about them. */
export class ModelRepository {
  readonly #entries: ReadonlyMap<string, ModelEntry>;
  readonly #controlMode: ControlMode;
  /** Loaded for an ensemble and never by their own name. */
  readonly #dependents = new Set<string>();
  /** Ensembles that went away with one of their models, and come back with it. */
  readonly #orphans = new Set<string>();

  constructor(entries: readonly ModelEntry[], controlMode: ControlMode) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.#controlMode = controlMode;
  }

  get models(): readonly ModelEntry[] {
    return [...this.#entries.values()];
  }

  /** Triton's strict readiness, over all models. */
  get isReady(): boolean {
    return this.models.every((entry) => entry.isSettled);
  }

  index(readyOnly: boolean): ModelIndexEntry[] {
    return this.models.flatMap((entry) => entry.index()).filter((entry) => !readyOnly || entry.state === 'READY');
  }

  isModelReady(model: string, version: string): boolean {
    const serving = this.#entries.get(model)?.serving;
    return serving !== undefined && serving !== null && (version === '' || version === serving.version);
  }

  /** The version that answers requests. Throws NOT_FOUND. */
  serving(model: string, version: string): Servable {
    return servingVersion(this.#entries, model, version);
  }

  metadata(model: string, version: string): ModelMetadata {
    const { config, version: only } = this.serving(model, version);
    return {
      name: model,
      versions: [only],
      platform: config.platform || config.backend || '',
      inputs: tensorMetadata(config, config.input),
      outputs: tensorMetadata(config, config.output),
    };
  }

  effectiveConfig(model: string, version: string): ModelConfig {
    this.serving(model, version);
    return this.#entries.get(model)?.effectiveConfig() as ModelConfig;
  }

  /** Returns the statistics of one model, or of all that are ready when `model` is ''. Throws INVALID_ARGUMENT. */
  statistics(model: string, version: string): ModelStatistics[] {
    if (model === '') return this.models.flatMap((entry) => entry.readStatistics() ?? []);
    const statistics = this.isModelReady(model, version) ? this.#entries.get(model)?.readStatistics() : null;
    if (!statistics) throw new ProtocolFailure('INVALID_ARGUMENT', `requested model '${model}' is not available`);
    return [statistics];
  }

  /**
   * Loads a model, with `configJson` as its whole config when given, and of `files` those versions in place of the stored
   * one. An ensemble loads the models that it is made of. Throws UNAVAILABLE without explicit control, INTERNAL with
   * Triton's one text for whatever it cannot read, INVALID_ARGUMENT when the model cannot start.
   */
  async load(model: string, configJson?: string, files: UploadedFiles = NO_FILES): Promise<void> {
    this.#checkControl();
    const entry = this.#entries.get(model);
    if (!entry || (files.size > 0 && configJson === undefined)) throw notPolled(model);
    if (entry.isRemoved && files.size === 0) throw notPolled(model);
    const source = configJson === undefined ? null : sourceOf(entry, configJson, files);
    await this.#loadComposing(source?.config ?? entry.stored);
    await entry.load(source);
    this.#dependents.delete(model);
    this.#orphans.delete(model);
    await this.#loadOrphans();
  }

  /**
   * Unloads a model; one that is unknown or not loaded is no error. Ensembles that need it go with it; the models of an
   * ensemble go with it when `withDependents`, unless they were loaded by name. Throws UNAVAILABLE without explicit control.
   */
  unload(model: string, withDependents = false): void {
    this.#checkControl();
    const entry = this.#entries.get(model);
    for (const other of this.models)
      if (other.serving && composingModels(other.serving.config).includes(model)) {
        this.#orphans.add(other.name);
        other.unload();
      }
    this.#orphans.delete(model);
    entry?.unload();
    if (!entry || !withDependents) return;
    for (const name of composingModels(entry.stored)) if (this.#dependents.has(name)) this.unload(name);
  }

  /** Does what somebody else might do to a model: unloads it, loads it with its stored config, or removes its directory. Never fails. */
  async meddle(model: string, how: Meddling): Promise<void> {
    const entry = this.#entries.get(model);
    if (how === 'unload') entry?.unload();
    else if (how === 'remove') entry?.remove();
    else await entry?.load({ config: entry.stored, version: entry.version, files: NO_FILES }).catch(() => undefined);
  }

  async #loadComposing(config: ModelConfig): Promise<void> {
    for (const name of composingModels(config)) {
      const entry = this.#entries.get(name);
      if (!entry) throw notPolled(config.name ?? '');
      if (entry.serving) continue;
      await this.#loadComposing(entry.stored);
      await entry.load(null);
      this.#dependents.add(name);
    }
  }

  async #loadOrphans(): Promise<void> {
    for (const name of [...this.#orphans]) {
      const entry = this.#entries.get(name) as ModelEntry;
      if (composingModels(entry.stored).some((part) => !this.#entries.get(part)?.serving)) continue;
      this.#orphans.delete(name);
      await entry.load(null);
    }
  }

  /** Throws INVALID_ARGUMENT for a model that has no trace settings: one that is not there. */
  checkTraced(model: string): void {
    if (model !== '' && !this.#entries.get(model)?.serving)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Request for unknown model : ${model}`);
  }

  #checkControl(): void {
    if (this.#controlMode === 'explicit') return;
    throw new ProtocolFailure('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled');
  }
}

/** The version of a model that answers requests. Throws NOT_FOUND. */
export function servingVersion(entries: ReadonlyMap<string, ModelEntry>, model: string, version: string): Servable {
  const entry = entries.get(model);
  if (!entry) throw unknown(model, 'is not found');
  if (!entry.serving) throw unknown(model, 'has no available versions');
  if (version !== '' && version !== entry.serving.version) throw unknown(model, `version ${version} is not found`);
  return entry.serving;
}

function sourceOf(entry: ModelEntry, configJson: string, files: UploadedFiles): LoadSource {
  const config = readPostedConfig(entry, configJson);
  return { config, version: chosenVersion(entry.name, config, files), files };
}

function unknown(model: string, what: string): ProtocolFailure {
  return new ProtocolFailure('NOT_FOUND', `Request for unknown model: '${model}' ${what}`);
}
