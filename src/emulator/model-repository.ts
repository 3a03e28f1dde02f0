import type { ModelConfig } from '../triton/model-config.ts';
import type { ModelIndexEntry, ModelMetadata, ModelStatistics } from '../triton/types.ts';
import type { ModelEntry } from './model-entry.ts';
import { readPostedConfig } from './posted-config.ts';
import { notPolled, ProtocolFailure } from './protocol-failure.ts';
import type { ServedVersion } from './served-version.ts';
import { tensorMetadata } from './tensors.ts';

/** As `--model-control-mode` of Triton. */
export type ControlMode = 'explicit' | 'none' | 'poll';

/** The models of one emulator by name, and Triton's answers to what clients ask about them. */
export class ModelRepository {
  readonly #entries: ReadonlyMap<string, ModelEntry>;
  readonly #controlMode: ControlMode;

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
    return this.models.map((entry) => entry.index()).filter((entry) => !readyOnly || entry.state === 'READY');
  }

  isModelReady(model: string, version: string): boolean {
    const serving = this.#entries.get(model)?.serving;
    return serving !== undefined && serving !== null && (version === '' || version === serving.version);
  }

  /** The version that answers requests. Throws NOT_FOUND. */
  serving(model: string, version: string): ServedVersion {
    const entry = this.#entries.get(model);
    if (!entry) throw unknown(model, 'is not found');
    if (!entry.serving) throw unknown(model, 'has no available versions');
    if (version !== '' && version !== entry.serving.version) throw unknown(model, `version ${version} is not found`);
    return entry.serving;
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

  /** Of one model, or of all that are ready when `model` is ''. Throws INVALID_ARGUMENT. */
  statistics(model: string, version: string): ModelStatistics[] {
    if (model === '') return this.models.flatMap((entry) => entry.readStatistics() ?? []);
    const statistics = this.isModelReady(model, version) ? this.#entries.get(model)?.readStatistics() : null;
    if (!statistics) throw new ProtocolFailure('INVALID_ARGUMENT', `requested model '${model}' is not available`);
    return [statistics];
  }

  /**
   * Loads a model, with `configJson` as its whole config when given. Throws UNAVAILABLE without explicit control,
   * INTERNAL with Triton's one text for whatever it cannot read, INVALID_ARGUMENT when the model cannot start.
   */
  async load(model: string, configJson: string | undefined): Promise<void> {
    this.#checkControl();
    const entry = this.#entries.get(model);
    if (!entry) throw notPolled(model);
    await entry.load(configJson === undefined ? null : readPostedConfig(entry, configJson));
  }

  /** Unloads a model; one that is unknown or not loaded is no error. Throws UNAVAILABLE without explicit control. */
  unload(model: string): void {
    this.#checkControl();
    this.#entries.get(model)?.unload();
  }

  #checkControl(): void {
    if (this.#controlMode === 'explicit') return;
    throw new ProtocolFailure('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled');
  }
}

function unknown(model: string, what: string): ProtocolFailure {
  return new ProtocolFailure('NOT_FOUND', `Request for unknown model: '${model}' ${what}`);
}
