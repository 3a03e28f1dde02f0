import type { Clock } from '../base/clock.ts';
import { messageOf, TrituneError } from '../base/errors.ts';
import { type Random, seededRandom } from '../base/random.ts';
import type { Backstage } from './backstage.ts';
import { Device } from './device.ts';
import { bothFaults, type Faults } from './faults.ts';
import { LogSettings } from './log-settings.ts';
import { metricsOf } from './metrics.ts';
import { type EntryOptions, ModelEntry } from './model-entry.ts';
import { type ControlMode, ModelRepository, servingVersion } from './model-repository.ts';
import { readStoredConfig } from './posted-config.ts';
import { profileFaults } from './profile-faults.ts';
import { ensemblePhysics, physicsOf } from './profile-physics.ts';
import type { Profile } from './profile-schema.ts';
import { ProtocolFailure } from './protocol-failure.ts';
import type { Servable } from './servable.ts';
import type { Surroundings } from './served-version.ts';
import { serverIdentity } from './server-identity.ts';
import { SharedMemoryRegistry } from './shared-memory.ts';
import { TraceSettings } from './trace-settings.ts';
import type { WakeUps } from './wake-ups.ts';

/** What an emulator is, without the ports that it listens on. */
export interface StageOptions {
  readonly profile: Profile;
  /** Of the noise; default 1. */
  readonly seed?: number;
  /** Default `explicit`. */
  readonly controlMode?: ControlMode;
  /** Which models are ready at the start; default all of the profile. */
  readonly loadAtStart?: readonly string[];
  /** What its trace settings name as their file; nothing is written there. Default none, and then it cannot be told to trace. */
  readonly traceFile?: string;
  /** Beside those of the profile. */
  readonly faults?: Faults;
}

export interface OpenStage {
  readonly stage: Backstage;
  /** The Prometheus page of this moment. */
  metrics(): string;
  /** Ends what is under way, and lets go of what clients have registered. */
  close(): void;
}

/**
 * What the front ends of one emulator answer from: its models, loaded as at the start of a server, and its settings.
 * `crash` is called when a fault says that the server ends. Errors: PROFILE_INVALID when a model cannot start at all.
 */
export function openStage(options: StageOptions, clock: Clock, wakeUps: WakeUps, crash: () => void): OpenStage {
  const { profile } = options;
  const random = seededRandom(options.seed ?? 1);
  const faults = bothFaults(options.faults ?? {}, profileFaults(profile, random));
  const device = new Device(profile.device.memory_mib, clock);
  const closing = new AbortController();
  const gpus = profile.device.kind === 'gpu' ? 1 : 0;
  const models = entriesOf(profile, random, faults, gpus, { clock, wakeUps, device, closing: closing.signal, crash });
  const repository = new ModelRepository(models, options.controlMode ?? 'explicit');
  loadAtStart(profile, models, options.loadAtStart);
  const sharedMemory = new SharedMemoryRegistry(gpus);
  return {
    stage: {
      ...{ identity: serverIdentity(profile.name), repository, faults, sharedMemory, crash },
      ...{ traceSettings: new TraceSettings(options.traceFile), logSettings: new LogSettings() },
    },
    metrics: metricsOf(profile, models, device, clock),
    close: () => {
      closing.abort(new ProtocolFailure('UNAVAILABLE', 'Server exiting'));
      sharedMemory.close();
    },
  };
}

/** Of models and ensembles alike, by the name of their config. */
function entriesOf(profile: Profile, random: Random, faults: Faults, gpus: number, around: Surroundings): ModelEntry[] {
  const startNs = around.clock.nowNs();
  const elapsedNs = (): number => around.clock.nowNs() - startNs;
  const servingOf = (model: string, version: string): Servable => servingVersion(entries, model, version);
  const entryOf = (
    config: Profile['ensembles' | 'models'][number]['config'],
    physics: EntryOptions['physicsOf'],
  ): ModelEntry =>
    new ModelEntry(
      { name: config.name, stored: readStoredConfig(config), gpus, physicsOf: physics, faults, servingOf },
      around,
    );
  const models = profile.models.map((model) =>
    entryOf(model.config, (config) => physicsOf(model, config, random, elapsedNs)),
  );
  const ensembles = profile.ensembles.map((one) => entryOf(one.config, () => ensemblePhysics(one)));
  const entries: ReadonlyMap<string, ModelEntry> = new Map(
    [...models, ...ensembles].map((entry) => [entry.name, entry] as const),
  );
  return [...entries.values()];
}

function loadAtStart(profile: Profile, models: readonly ModelEntry[], names: readonly string[] | undefined): void {
  for (const model of models) {
    if (names && !names.includes(model.name)) continue;
    try {
      model.loadAtStart();
    } catch (error) {
      throw new TrituneError(
        'PROFILE_INVALID',
        `model '${model.name}' of emulator profile '${profile.name}' cannot start: ${messageOf(error)}`,
        'correct its config, its memory or its device',
        { cause: error },
      );
    }
  }
}
