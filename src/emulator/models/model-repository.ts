import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelIndexEntry, ModelMetadata, ModelStatistics } from '#triton/types.ts';
import type { Meddling } from '../faults.ts';
import { readPostedConfig } from '../profile/posted-config.ts';
import { notPolled, ProtocolFailure } from '../wire/protocol-failure.ts';
import { tensorMetadata } from '../wire/tensors.ts';
import { EnsembleUpkeep } from './ensemble-upkeep.ts';
import type { LoadSource, ModelEntry } from './model-entry.ts';
import type { Servable } from './servable.ts';
import { chosenVersion, NO_FILES, type UploadedFiles } from './uploaded-files.ts';

/** As `--model-control-mode` of Triton. */
export type ControlMode = 'explicit' | 'none' | 'poll';

/** The models of one emulator by name, and Triton's answers to what clients ask about them. */
export class ModelRepository {
  readonly #entries: ReadonlyMap<string, ModelEntry>;
  readonly #controlMode: ControlMode;
  /** Loaded for an ensemble and never by name. */
  readonly #dependents = new Set<string>();
  readonly #ensembles: EnsembleUpkeep;

  constructor(entries: readonly ModelEntry[], controlMode: ControlMode) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.#controlMode = controlMode;
    this.#ensembles = new EnsembleUpkeep(this.#entries);
  }

  get models(): readonly ModelEntry[] {
    return [...this.#entries.values()];
  }

  /** True if any of the models is a language model, loaded or not. */
  get hasLanguageModels(): boolean {
    return this.models.some((entry) => entry.isLanguageModel);
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

  /** Returns the version that answers requests. Throws NOT_FOUND. */
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

  /**
   * Returns the statistics of one model, or of all ready models if `model` is ''. Throws
   * INVALID_ARGUMENT.
   */
  statistics(model: string, version: string): ModelStatistics[] {
    if (model === '') return this.models.flatMap((entry) => entry.readStatistics() ?? []);
    const statistics = this.isModelReady(model, version) ? this.#entries.get(model)?.readStatistics() : null;
    if (!statistics) throw new ProtocolFailure('INVALID_ARGUMENT', `requested model '${model}' is not available`);
    return [statistics];
  }

  /**
   * Loads a model, with `configJson` as its whole config if given, and the versions in `files`
   * instead of the stored one. An ensemble also loads its models. Throws UNAVAILABLE without
   * explicit control, INTERNAL with Triton's one text for anything that it cannot read,
   * INVALID_ARGUMENT if the model cannot start.
   */
  async load(model: string, configJson?: string, files: UploadedFiles = NO_FILES): Promise<void> {
    this.#checkControl();
    try {
      await this.#loadNamed(model, configJson, files);
    } finally {
      await this.#ensembles.settle();
    }
    this.#ensembles.loaded(model);
  }

  async #loadNamed(model: string, configJson: string | undefined, files: UploadedFiles): Promise<void> {
    const entry = this.#entries.get(model);
    if (!entry || (files.size > 0 && configJson === undefined)) throw notPolled(model);
    if (entry.isRemoved && files.size === 0) throw notPolled(model);
    const source = configJson === undefined ? null : toSource(entry, configJson, files);
    const config = source?.config ?? entry.stored;
    if (this.#ensembles.isCircular(entry, config)) throw notLoaded(model, 'circular dependency between ensembles');
    if (source) this.#ensembles.overridden(model);
    await this.#loadComposing(config);
    const misfit = this.#ensembles.misfit(entry, source?.config);
    if (misfit !== null) throw notLoaded(model, misfit);
    await entry.load(source);
    this.#dependents.delete(model);
  }

  /**
   * Unloads a model; an unknown or unloaded one is no error. Ensembles that need it go too.
   * `withDependents` also unloads the models of an ensemble, unless they were loaded by name.
   * Throws UNAVAILABLE without explicit control.
   */
  unload(model: string, withDependents = false): void {
    this.#checkControl();
    this.#unloadNamed(model, withDependents);
    void this.#ensembles.settle();
  }

  #unloadNamed(model: string, withDependents: boolean): void {
    const entry = this.#entries.get(model);
    this.#ensembles.leaves(model);
    this.#ensembles.unloaded(model);
    entry?.unload();
    if (!entry || !withDependents) return;
    for (const name of composingModels(entry.stored)) if (this.#dependents.has(name)) this.#unloadNamed(name, true);
  }

  /**
   * Does what another client might do to a model: unloads it, loads it with its stored config, or
   * removes its directory. Never fails.
   */
  async meddle(model: string, how: Meddling): Promise<void> {
    const entry = this.#entries.get(model);
    if (how === 'unload') this.#unloadNamed(model, false);
    else if (how === 'remove') entry?.remove();
    else {
      this.#ensembles.overridden(model);
      await entry?.load({ config: entry.stored, version: entry.version, files: NO_FILES }).catch(() => undefined);
    }
    await this.#ensembles.settle();
  }

  /** Loads missing models in parallel. */
  async #loadComposing(config: ModelConfig): Promise<void> {
    const load = async (name: string): Promise<void> => {
      const entry = this.#entries.get(name);
      if (!entry) throw notPolled(config.name ?? '');
      if (entry.serving) return;
      await this.#loadComposing(entry.stored);
      await entry.load(null);
      this.#dependents.add(name);
    };
    await Promise.all(composingModels(config).map(load));
  }

  /** Throws INVALID_ARGUMENT for a model without trace settings, because it does not exist. */
  checkTraced(model: string): void {
    if (model !== '' && !this.#entries.get(model)?.serving)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Request for unknown model : ${model}`);
  }

  #checkControl(): void {
    if (this.#controlMode === 'explicit') return;
    throw new ProtocolFailure('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled');
  }
}

/** Returns the version of a model that answers requests. Throws NOT_FOUND. */
export function servingVersion(entries: ReadonlyMap<string, ModelEntry>, model: string, version: string): Servable {
  const entry = entries.get(model);
  if (!entry) throw unknown(model, 'is not found');
  if (!entry.serving) throw unknown(model, 'has no available versions');
  if (version !== '' && version !== entry.serving.version) throw unknown(model, `version ${version} is not found`);
  return entry.serving;
}

const notLoaded = (model: string, reason: string): ProtocolFailure =>
  new ProtocolFailure('INVALID_ARGUMENT', `load failed for model '${model}': ${reason}\n`);

function toSource(entry: ModelEntry, configJson: string, files: UploadedFiles): LoadSource {
  const config = readPostedConfig(entry, configJson);
  return { config, version: chosenVersion(entry.name, config, files), files };
}

function unknown(model: string, what: string): ProtocolFailure {
  return new ProtocolFailure('NOT_FOUND', `Request for unknown model: '${model}' ${what}`);
}
