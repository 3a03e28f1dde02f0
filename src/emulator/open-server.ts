import type { Clock } from '#base/clock.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { type Random, seededRandom } from '#base/random.ts';
import { bothFaults, type Faults } from './faults.ts';
import { LogSettings } from './log-settings.ts';
import { createMetrics } from './metrics.ts';
import { type EntryOptions, ModelEntry } from './models/model-entry.ts';
import { type ControlMode, ModelRepository, servingVersion } from './models/model-repository.ts';
import type { Servable } from './models/servable.ts';
import type { SharedParts } from './models/surroundings.ts';
import { profileFaults } from './profile/faults.ts';
import { withComposingModels } from './profile/parts.ts';
import { readStoredConfig } from './profile/posted-config.ts';
import type { EmulatorProfile } from './profile/schema.ts';
import { createLanguageSimulator, createModelSimulator, ensembleSimulator } from './profile/simulators.ts';
import { DeviceMemory } from './scheduling/device.ts';
import { EngineCache } from './scheduling/engine-cache.ts';
import { Processor } from './scheduling/processor.ts';
import type { WakeUps } from './scheduling/wake-ups.ts';
import type { ServerContext } from './server-context.ts';
import { EmulatedTraceSettings } from './trace-settings.ts';
import { ProtocolFailure } from './wire/protocol-failure.ts';
import { serverIdentity } from './wire/server-identity.ts';
import { SharedMemoryRegistry } from './wire/shared-memory.ts';

/** Options of an emulated server, without its ports. */
export interface EmulatedServerOptions {
  readonly profile: EmulatorProfile;
  /** Seed of the noise; 1 by default. */
  readonly seed?: number;
  /** `explicit` by default. */
  readonly controlMode?: ControlMode;
  /**
   * Models that are loaded at the start, ensembles with their models; by default all models of the
   * profile.
   */
  readonly loadAtStart?: readonly string[];
  /**
   * The file in its trace settings; nothing is written there. If absent, tracing cannot be turned
   * on.
   */
  readonly traceFile?: string;
  /** Faults in addition to the profile's. */
  readonly faults?: Faults;
}

/** An emulated server without ports. */
export interface EmulatedServer {
  readonly context: ServerContext;
  /** Returns the current Prometheus page. */
  metrics(): string;
  /** Ends what is in progress and releases the clients' shared-memory regions. */
  close(): void;
}

/**
 * Opens an emulated server: its models, loaded as at a server's start, and its settings. Calls
 * `crash` when a fault ends the server. Errors: PROFILE_INVALID if a model cannot start at all.
 */
export function openEmulatedServer(
  options: EmulatedServerOptions,
  clock: Clock,
  wakeUps: WakeUps,
  crash: () => void,
): EmulatedServer {
  const { profile } = options;
  const random = seededRandom(options.seed ?? 1);
  const faults = bothFaults(options.faults ?? {}, profileFaults(profile, random));
  const gpus = profile.device.kind === 'gpu' ? profile.device.count : 0;
  const devices = Math.max(1, gpus);
  const device = new DeviceMemory(profile.device.memory_mib, devices);
  const processors = Array.from({ length: devices }, () => new Processor(clock, wakeUps));
  const host = new Processor(clock, wakeUps);
  const closing = new AbortController();
  const around = {
    clock,
    wakeUps,
    device,
    processors,
    host,
    engines: new EngineCache(),
    closing: closing.signal,
    crash,
  };
  const models = readEntries(profile, random, faults, gpus, around);
  const repository = new ModelRepository(models, options.controlMode ?? 'explicit');
  loadAtStart(profile, models, options.loadAtStart);
  const sharedMemory = new SharedMemoryRegistry(gpus);
  return {
    context: {
      identity: serverIdentity(profile.name),
      repository,
      faults,
      sharedMemory,
      crash,
      traceSettings: new EmulatedTraceSettings(options.traceFile),
      logSettings: new LogSettings(),
    },
    metrics: createMetrics(profile, models, around, clock),
    close: () => {
      closing.abort(new ProtocolFailure('UNAVAILABLE', 'Server exiting'));
      sharedMemory.close();
    },
  };
}

/** Returns the entries of models and ensembles in the order of the profile. */
function readEntries(
  profile: EmulatorProfile,
  random: Random,
  faults: Faults,
  gpus: number,
  around: SharedParts,
): ModelEntry[] {
  const startNs = around.clock.nowNs();
  const elapsedNs = (): number => around.clock.nowNs() - startNs;
  const findServing = (model: string, version: string): Servable => servingVersion(entries, model, version);
  const toEntry = (
    config: EmulatorProfile['ensembles' | 'models'][number]['config'],
    simulator: EntryOptions['createModelSimulator'],
    isLanguageModel = false,
  ): ModelEntry => {
    const stored = readStoredConfig(config);
    return new ModelEntry(
      { name: config.name, isLanguageModel, stored, gpus, createModelSimulator: simulator, faults, findServing },
      around,
    );
  };
  const models = profile.models.map((model) => {
    const { language } = model;
    if (!language) {
      return toEntry(model.config, (config, files) => createModelSimulator(model, config, random, elapsedNs, files));
    }
    const createSimulator: EntryOptions['createModelSimulator'] = (config, files) =>
      createLanguageSimulator({ ...model, language }, profile.device.memory_mib, config, files, random);
    return toEntry(model.config, createSimulator, true);
  });
  const ensembles = profile.ensembles.map((one) => toEntry(one.config, () => ensembleSimulator(one)));
  const entries: ReadonlyMap<string, ModelEntry> = new Map(
    [...models, ...ensembles].map((entry) => [entry.name, entry] as const),
  );
  return [...entries.values()];
}

function loadAtStart(
  profile: EmulatorProfile,
  models: readonly ModelEntry[],
  names: readonly string[] | undefined,
): void {
  const loaded = names && withComposingModels(profile, names);
  for (const model of models) {
    if (loaded && !loaded.has(model.name)) continue;
    try {
      model.loadAtStart();
    } catch (error) {
      throw new TrituneError(
        'PROFILE_INVALID',
        `model '${model.name}' of emulator profile '${profile.name}' cannot start: ${formatMessage(error)}`,
        'correct its config, its memory or its device',
        { cause: error },
      );
    }
  }
}
