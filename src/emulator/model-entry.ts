import { canonicalJson } from '../base/json.ts';
import { MS_PER_S } from '../base/units.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { ModelIndexEntry, ModelStatistics } from '../triton/types.ts';
import { admit } from './admission.ts';
import { BYTES_PER_MIB } from './device.ts';
import type { Faults } from './faults.ts';
import type { ModelPhysics } from './physics.ts';
import { type Placement, place } from './placement.ts';
import { asProtocolFailure, ProtocolFailure } from './protocol-failure.ts';
import { ServedVersion, type Surroundings } from './served-version.ts';
import { VersionStatistics } from './version-statistics.ts';

export interface EntryOptions {
  readonly name: string;
  /** What a load without a config loads: the profile's config, with defaults. */
  readonly stored: ModelConfig;
  readonly gpus: number;
  readonly physicsOf: (config: ModelConfig) => ModelPhysics;
  readonly faults: Faults;
}

const VERSION = '1';

/** One model of the repository through its loads and unloads, with Triton's semantics of each. */
export class ModelEntry {
  readonly name: string;
  /** Counters for the metrics endpoint: they outlive every reload. */
  readonly lifetime: VersionStatistics;
  #state: ModelIndexEntry['state'] = '';
  #reason = '';
  #serving: ServedVersion | null = null;
  /** The posted config that serves, to tell an instance-only change from any other. */
  #posted: ModelConfig | null = null;
  #draining = new Set<ServedVersion>();
  #tail: Promise<void> = Promise.resolve();
  readonly #options: EntryOptions;
  readonly #around: Surroundings;

  constructor(options: EntryOptions, around: Surroundings) {
    this.name = options.name;
    this.#options = options;
    this.#around = around;
    this.lifetime = new VersionStatistics(around.clock);
  }

  get stored(): ModelConfig {
    return this.#options.stored;
  }

  /** The version that serves requests now, if any. */
  get serving(): ServedVersion | null {
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

  index(): ModelIndexEntry {
    return { name: this.name, version: this.#state === '' ? '' : VERSION, state: this.#state, reason: this.#reason };
  }

  /** The effective config of the version that serves, or null. */
  effectiveConfig(): ModelConfig | null {
    if (!this.serving) return null;
    return this.#options.faults.readBack?.(this.serving.config) ?? this.serving.config;
  }

  readStatistics(): ModelStatistics | null {
    const mib = this.#around.device.heldMib(this);
    const gpu = { type: 'GPU', id: 0, byteSize: mib * BYTES_PER_MIB };
    return this.serving?.statistics.read(this.name, VERSION, this.#options.gpus > 0 && mib > 0 ? [gpu] : []) ?? null;
  }

  /**
   * Loads `posted` as a whole config, or the stored one when null. A model that is ready stays as it is without a
   * config: an override is sticky, and the repository never changes. Loads of one model go one after the other.
   */
  load(posted: ModelConfig | null): Promise<void> {
    return this.#inTurn(async () => {
      if (posted === null && this.#state === 'READY') return;
      const config = posted ?? this.#options.stored;
      const placement = place(this.name, config, { gpus: this.#options.gpus });
      const inPlace = this.#serving !== null && this.#posted !== null && differInInstancesOnly(this.#posted, config);
      await (inPlace ? this.#changeInPlace(placement) : this.#loadAnew(placement));
      this.#posted = config;
    });
  }

  /** Makes the stored config serve at once, as at the start of a server. */
  loadAtStart(): void {
    const placement = place(this.name, this.#options.stored, { gpus: this.#options.gpus });
    const physics = this.#options.physicsOf(placement.config);
    admit(this.#around.device, this, placement, physics);
    this.#serve(placement, physics);
    this.#posted = this.#options.stored;
  }

  /** Returns at once; what is queued is still answered, and new requests find no such model. */
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

  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(task);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #changeInPlace(placement: Placement): Promise<void> {
    const serving = this.#serving as ServedVersion;
    const before = place(this.name, this.#posted as ModelConfig, { gpus: this.#options.gpus }).instances;
    const physics = this.#options.physicsOf(placement.config);
    const added = placement.instances - before;
    const seconds = added > 0 ? physics.load.addSeconds : -added * physics.load.removeSeconds;
    try {
      await this.#wait(placement, seconds, true);
      admit(this.#around.device, this, placement, physics);
    } catch (error) {
      const failure = asProtocolFailure(error);
      this.#reason = `Internal: ${failure.message}`;
      throw this.#loadFailed('READY', failure);
    }
    serving.setInstances(placement.config, placement.instances);
    this.#reason = '';
    this.#applyNeverReady(placement, true);
  }

  async #loadAnew(placement: Placement): Promise<void> {
    if (!this.#serving) this.#state = 'LOADING';
    const physics = this.#options.physicsOf(placement.config);
    try {
      await this.#wait(placement, physics.load.fullSeconds, false);
      admit(this.#around.device, this, placement, physics);
    } catch (error) {
      const failure = this.#loadFailed('UNAVAILABLE', asProtocolFailure(error));
      if (!this.#serving) {
        this.#state = 'UNAVAILABLE';
        this.#reason = `Internal: ${asProtocolFailure(error).message}`;
      }
      throw failure;
    }
    this.#retire(this.#serving);
    this.#serve(placement, physics);
    this.#applyNeverReady(placement, false);
  }

  async #wait(placement: Placement, seconds: number, inPlace: boolean): Promise<void> {
    const { faults } = this.#options;
    const load = { model: this.name, config: placement.config, inPlace };
    const ms = seconds * MS_PER_S + (faults.delayLoadMs?.(load) ?? 0);
    await this.#around.clock.sleep(ms, this.#around.closing);
    const refusal = faults.refuseLoad?.(load) ?? null;
    if (refusal !== null) throw new ProtocolFailure('INVALID_ARGUMENT', refusal);
  }

  #serve(placement: Placement, physics: ModelPhysics): void {
    const { config, instances } = placement;
    const options = { model: this.name, version: VERSION, config, instances, physics, lifetime: this.lifetime };
    this.#serving = new ServedVersion(options, this.#around);
    this.#state = 'READY';
    this.#reason = '';
  }

  #applyNeverReady(placement: Placement, inPlace: boolean): void {
    if (this.#options.faults.neverReady?.({ model: this.name, config: placement.config, inPlace }))
      this.#state = 'LOADING';
    else this.#state = 'READY';
  }

  /** The version answers what it has and takes nothing new. */
  #retire(version: ServedVersion | null): void {
    if (!version) return;
    this.#draining.add(version);
    void version.drained().then(() => this.#draining.delete(version));
  }

  #loadFailed(state: 'READY' | 'UNAVAILABLE', cause: ProtocolFailure): ProtocolFailure {
    return new ProtocolFailure(
      'INVALID_ARGUMENT',
      `load failed for model '${this.name}': version ${VERSION} is at ${state} state: Internal: ${cause.message};\n`,
    );
  }
}

/** Triton's rule for a change in place: nothing but the instance groups and the version policy differs. */
function differInInstancesOnly(before: ModelConfig, after: ModelConfig): boolean {
  const rest = ({ instance_group: _, version_policy: __, ...others }: ModelConfig): string => canonicalJson(others);
  return rest(before) === rest(after);
}
