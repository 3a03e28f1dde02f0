import { canonicalJson } from '#base/json.ts';
import { BYTES_PER_MIB, MS_PER_S } from '#base/units.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelIndexEntry, ModelStatistics } from '#triton/types.ts';
import type { Faults } from '../faults.ts';
import { LanguageVersion } from '../language/language-version.ts';
import { admit } from '../scheduling/admission.ts';
import type { EmulatedModelSimulator } from '../scheduling/model-simulator.ts';
import { type Placement, place } from '../scheduling/placement.ts';
import { createWarmUp, type WarmUp } from '../scheduling/warm-up.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import { EnsembleVersion } from './ensemble-version.ts';
import type { Servable } from './servable.ts';
import { ServedVersion } from './served-version.ts';
import type { SharedParts } from './surroundings.ts';
import { NO_FILES, type UploadedFiles } from './uploaded-files.ts';
import { VersionStatistics } from './version-statistics.ts';

export interface EntryOptions {
  readonly name: string;
  readonly isLanguageModel?: boolean;
  /** The config of a load without a config: the profile's, with defaults. */
  readonly stored: ModelConfig;
  readonly gpus: number;
  readonly createModelSimulator: (config: ModelConfig, files: UploadedFiles) => EmulatedModelSimulator;
  readonly faults: Faults;
  /** For an ensemble and BLS: returns the serving version of another model. Throws NOT_FOUND. */
  readonly findServing: (model: string, version: string) => Servable;
}

/** The content of a load. */
export interface LoadSource {
  readonly config: ModelConfig;
  /** Version of the uploaded files; the repository has only version 1. */
  readonly version: string;
  /** Empty for those of the repository. */
  readonly files: UploadedFiles;
}

const STORED_VERSION = '1';

/** One model of the repository, with Triton's semantics of loads and unloads. */
export class ModelEntry {
  readonly name: string;
  /** Counters for the metrics endpoint: they outlive every reload. */
  readonly lifetime: VersionStatistics;
  /** Duration of its last load, except in-place ones. */
  loadSeconds = 0;
  #state: ModelIndexEntry['state'] = '';
  #reason = '';
  #serving: Servable | null = null;
  #version = STORED_VERSION;
  /** The posted config that is served, to tell an instance-only change from any other. */
  #posted: LoadSource | null = null;
  #draining = new Set<Servable>();
  /** Version numbers that were served before and are not now. */
  readonly #former = new Set<string>();
  #isRemoved = false;
  #tail: Promise<void> = Promise.resolve();
  readonly #options: EntryOptions;
  readonly #around: SharedParts;

  constructor(options: EntryOptions, around: SharedParts) {
    this.name = options.name;
    this.#options = options;
    this.#around = around;
    this.lifetime = new VersionStatistics(around.clock);
  }

  get stored(): ModelConfig {
    return this.#options.stored;
  }

  get isLanguageModel(): boolean {
    return this.#options.isLanguageModel === true;
  }

  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** The version that serves requests now, if any. */
  get serving(): Servable | null {
    return this.#state === 'READY' ? this.#serving : null;
  }

  /** Strict readiness: the model is ready, was unloaded, or was never loaded. */
  get isSettled(): boolean {
    return this.#state === 'READY' || this.#state === '' || this.#reason === 'unloaded';
  }

  get waitingRequests(): number {
    let waiting = this.#serving?.waitingRequests ?? 0;
    for (const version of this.#draining) waiting += version.waitingRequests;
    return waiting;
  }

  get state(): ModelIndexEntry['state'] {
    return this.#state;
  }

  get version(): string {
    return this.#version;
  }

  /** Returns one entry per present or former version, by number. */
  index(): ModelIndexEntry[] {
    if (this.#isRemoved) return [];
    if (this.#state === '') return [{ name: this.name, version: '', state: '', reason: '' }];
    const draining = new Set([...this.#draining].map(({ version }) => version));
    const former = [...this.#former].map((version): ModelIndexEntry => {
      if (draining.has(version)) return { name: this.name, version, state: 'UNLOADING', reason: '' };
      return { name: this.name, version, state: 'UNAVAILABLE', reason: 'unloaded' };
    });
    const now = { name: this.name, version: this.#version, state: this.#state, reason: this.#reason };
    return [...former, now].sort((a, b) => Number(a.version) - Number(b.version));
  }

  /** Returns the effective config of the serving version, or null. */
  effectiveConfig(): ModelConfig | null {
    if (!this.serving) return null;
    return this.#options.faults.readBack?.(this.serving.config) ?? this.serving.config;
  }

  /** Throws INTERNAL if a fault demands it. */
  readStatistics(): ModelStatistics | null {
    const fault = this.#options.faults.disturbStatistics?.({ model: this.name }) ?? null;
    if (fault === 'fail') throw new ProtocolFailure('INTERNAL', `failed to read the statistics of '${this.name}'`);
    if (fault === 'forget') this.serving?.statistics.reset();
    const held = this.#options.gpus > 0 ? this.#around.device.heldMib(this) : [];
    const memory = held.flatMap((mib, id) => (mib > 0 ? [{ type: 'GPU', id, byteSize: mib * BYTES_PER_MIB }] : []));
    return this.serving?.statistics.read(this.name, this.#version, memory) ?? null;
  }

  /**
   * Loads `posted` as a whole config, or the stored one if null. Without a config a ready model
   * stays as it is: an override is sticky, and the repository never changes; such a load only
   * undoes uploaded files. Loads of one model run one after another.
   */
  load(posted: LoadSource | null): Promise<void> {
    return this.#inTurn(async () => {
      const isUploaded = (this.#posted?.files.size ?? 0) > 0;
      if (posted === null && this.#state === 'READY' && this.#version === STORED_VERSION && !isUploaded) return;
      const source = posted ?? { config: this.#options.stored, version: STORED_VERSION, files: NO_FILES };
      const placement = place(this.name, source.config, { gpus: this.#options.gpus });
      if (this.#differsInInstancesOnly(source)) {
        await this.#changeInPlace(placement);
        // Files that arrive with the config that is already served are dropped (verified on 2.51).
        this.#posted = { ...source, files: this.#posted?.files ?? NO_FILES };
      } else {
        await this.#loadAnew(placement, source);
        this.#posted = source;
      }
    });
  }

  /** Serves the stored config at once, as at the start of a server. */
  loadAtStart(): void {
    const placement = place(this.name, this.#options.stored, { gpus: this.#options.gpus });
    const simulator = this.#options.createModelSimulator(placement.config, NO_FILES);
    admit(this.#around.device, this, placement, simulator);
    this.loadSeconds = simulator.load.fullSeconds;
    this.#serve(placement, simulator, this.#warmUp(placement, simulator), STORED_VERSION);
    this.#posted = { config: this.#options.stored, version: STORED_VERSION, files: NO_FILES };
  }

  /** Recreates an ensemble: its statistics restart from 0, and requests in progress continue. */
  renew(): void {
    const { serving } = this;
    if (!serving) return;
    const placement: Placement = { config: serving.config, instances: 1, gpuOf: [null] };
    const simulator = this.#options.createModelSimulator(serving.config, this.#posted?.files ?? NO_FILES);
    this.#retire(serving);
    this.#serve(placement, simulator, this.#warmUp(placement, simulator), serving.version);
  }

  /**
   * Removes its directory: the served version continues, but the index does not list it and no load
   * finds it (verified on 2.51).
   */
  remove(): void {
    this.#isRemoved = true;
  }

  /** Returns at once; queued requests are still answered, and new ones find no such model. */
  unload(): void {
    if (this.#state !== 'READY' && this.#state !== 'UNAVAILABLE') return;
    const leaving = this.#serving;
    this.#serving = null;
    this.#posted = null;
    this.#state = 'UNLOADING';
    this.#reason = '';
    void this.#inTurn(async () => {
      await leaving?.drained();
      this.#around.device.release(this);
      this.#state = 'UNAVAILABLE';
      this.#reason = 'unloaded';
    });
  }

  /**
   * Triton's rule for an in-place change: only the instance groups and the version policy differ.
   */
  #differsInInstancesOnly({ config, version, files }: LoadSource): boolean {
    if (!this.#serving || !this.#posted || version !== this.#posted.version) return false;
    // The repository's own files after uploaded ones count as another model (verified on 2.51).
    if (files.size === 0 && this.#posted.files.size > 0) return false;
    const rest = ({ instance_group: _, version_policy: __, ...others }: ModelConfig): string => canonicalJson(others);
    return rest(this.#posted.config) === rest(config);
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(task);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #changeInPlace(requestedPlacement: Placement): Promise<void> {
    const serving = this.#serving as Servable;
    const before = place(this.name, (this.#posted as LoadSource).config, { gpus: this.#options.gpus }).instances;
    const files = this.#posted?.files ?? NO_FILES;
    const added = requestedPlacement.instances - before;
    let placement = requestedPlacement;
    let warmUp: WarmUp;
    try {
      const running = this.#options.createModelSimulator(requestedPlacement.config, files);
      warmUp = this.#warmUp(requestedPlacement, running, added);
      const { addSeconds, removeSeconds } = running.load;
      const seconds = added > 0 ? addSeconds + warmUp.seconds : -added * removeSeconds;
      placement = await this.#prepared(requestedPlacement, seconds, true);
      const simulator = this.#options.createModelSimulator(placement.config, files);
      admit(this.#around.device, this, placement, simulator);
    } catch (error) {
      const failure = asProtocolFailure(error);
      this.#reason = `Internal: ${failure.message}`;
      throw this.#loadFailed('READY', failure);
    }
    serving.setInstances(placement, before, warmUp);
    this.#reason = '';
    this.#applyNeverReady(placement, true);
  }

  async #loadAnew(requestedPlacement: Placement, { version, files }: LoadSource): Promise<void> {
    if (!this.#serving) this.#state = 'LOADING';
    let placement = requestedPlacement;
    let simulator = this.#options.createModelSimulator(requestedPlacement.config, files);
    let warmUp: WarmUp;
    try {
      warmUp = this.#warmUp(requestedPlacement, simulator);
      placement = await this.#prepared(requestedPlacement, simulator.load.fullSeconds + warmUp.seconds, false);
      simulator = this.#options.createModelSimulator(placement.config, files);
      admit(this.#around.device, this, placement, simulator, { isBeside: this.#serving !== null });
    } catch (error) {
      const failure = this.#loadFailed('UNAVAILABLE', asProtocolFailure(error));
      if (!this.#serving) {
        this.#state = 'UNAVAILABLE';
        this.#reason = `Internal: ${asProtocolFailure(error).message}`;
      }
      throw failure;
    }
    this.#retire(this.#serving);
    this.#serve(placement, simulator, warmUp, version);
    this.#applyNeverReady(placement, false);
  }

  /** Takes the time of a load; returns what to serve after it. Throws if the load fails. */
  async #prepared(placement: Placement, seconds: number, inPlace: boolean): Promise<Placement> {
    const { faults, gpus } = this.#options;
    const load = { model: this.name, config: placement.config, inPlace };
    const ms = seconds * MS_PER_S + (faults.delayLoadMs?.(load) ?? 0);
    if (!inPlace) this.loadSeconds = ms / MS_PER_S;
    const crashes = faults.crashLoad?.(load) ?? false;
    await this.#around.clock.sleep(crashes ? ms / 2 : ms, this.#around.closing);
    if (crashes) this.#around.crash();
    const refusal = faults.refuseLoad?.(load) ?? null;
    if (refusal !== null) throw new ProtocolFailure('INVALID_ARGUMENT', refusal);
    const config = faults.replaceConfig?.(load) ?? placement.config;
    return config === placement.config ? placement : place(this.name, config, { gpus });
  }

  #warmUp({ config, instances }: Placement, simulator: EmulatedModelSimulator, added = instances): WarmUp {
    const { engines, clock } = this.#around;
    return createWarmUp(this.name, config, added, simulator, () => engines.firstExecutionMs(simulator, clock.nowNs()));
  }

  #serve(placement: Placement, simulator: EmulatedModelSimulator, warmUp: WarmUp, version: string): void {
    const { name: model, lifetime } = this;
    const { config } = placement;
    const { findServing } = this.#options;
    const { clock } = this.#around;
    const { language } = simulator;
    if (config.ensemble_scheduling) {
      this.#serving = new EnsembleVersion({ model, version, config, lifetime, clock, serving: findServing });
    } else if (language) {
      this.#serving = new LanguageVersion({ model, version, config, language, lifetime }, this.#around);
    } else {
      const options = { model, version, placement, lifetime, simulator, warmUp, findServing };
      this.#serving = new ServedVersion(options, this.#around);
    }
    if (this.#version !== version) this.#former.add(this.#version);
    this.#former.delete(version);
    this.#version = version;
    this.#state = 'READY';
    this.#reason = '';
  }

  #applyNeverReady(placement: Placement, inPlace: boolean): void {
    if (this.#options.faults.neverReady?.({ model: this.name, config: placement.config, inPlace }))
      this.#state = 'LOADING';
    else this.#state = 'READY';
  }

  /** The version answers its requests and accepts no new ones. */
  #retire(version: Servable | null): void {
    if (!version) return;
    this.#draining.add(version);
    void version.drained().then(() => this.#draining.delete(version));
  }

  #loadFailed(state: 'READY' | 'UNAVAILABLE', cause: ProtocolFailure): ProtocolFailure {
    return new ProtocolFailure(
      'INVALID_ARGUMENT',
      `load failed for model '${this.name}': version ${this.#version} is at ${state} state: Internal: ${cause.message};\n`,
    );
  }
}
