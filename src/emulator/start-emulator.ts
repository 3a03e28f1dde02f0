import { realClock } from '../base/clock.ts';
import { messageOf, TrituneError } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { Device } from './device.ts';
import type { Faults } from './faults.ts';
import { type Front, startGrpcFront } from './grpc-front.ts';
import { startHttpFront, startListening } from './http-front.ts';
import { metricsOf } from './metrics.ts';
import { ModelEntry } from './model-entry.ts';
import { type ControlMode, ModelRepository } from './model-repository.ts';
import { readStoredConfig } from './posted-config.ts';
import { physicsOf } from './profile-physics.ts';
import type { ModelProfile, Profile } from './profile-schema.ts';
import { ProtocolFailure } from './protocol-failure.ts';
import type { Surroundings } from './served-version.ts';
import { serverIdentity } from './server-identity.ts';
import { SharedMemoryRegistry } from './shared-memory.ts';
import { startWakeUps } from './wake-ups.ts';

export interface EmulatorOptions {
  readonly profile: Profile;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0, the default, takes any free port. */
  readonly grpcPort?: number;
  readonly httpPort?: number;
  readonly metricsPort?: number;
  /** Of the noise; default 1. */
  readonly seed?: number;
  /** Default `explicit`. */
  readonly controlMode?: ControlMode;
  /** Which models are ready at the start; default all of the profile. */
  readonly loadAtStart?: readonly string[];
  readonly faults?: Faults;
}

export interface Emulator {
  /** HOST:PORT of each protocol. */
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** Of the Prometheus metrics: http://HOST:PORT/metrics */
  readonly metricsUrl: string;
  /** What the server is, for people, in one line. */
  readonly startupLine: string;
  /** Cuts all connections and frees the ports. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks Triton's protocols and whose models take the time that the profile says, inside this
 * process. Errors: LAUNCH_FAILED when it cannot listen, PROFILE_INVALID when a model cannot start at all.
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { profile, host = '127.0.0.1', faults = {} } = options;
  const wakeUps = startWakeUps(realClock);
  const device = new Device(profile.device.memory_mib, realClock);
  const closing = new AbortController();
  const around = { clock: realClock, wakeUps, device, closing: closing.signal };
  const models = entriesOf(options, faults, around);
  loadAtStart(profile, models, options.loadAtStart);
  const repository = new ModelRepository(models, options.controlMode ?? 'explicit');
  const sharedMemory = new SharedMemoryRegistry();
  const stage = { identity: serverIdentity(profile.name), repository, faults, sharedMemory };
  const metrics = metricsOf(profile, models, device, realClock);
  const fronts = await startAll([
    () => startGrpcFront(stage, host, options.grpcPort ?? 0),
    () => startHttpFront(stage, host, options.httpPort ?? 0),
    () => startMetricsFront(metrics, host, options.metricsPort ?? 0),
  ]);
  const [grpcUrl, httpUrl, metricsAddress] = fronts.map((front) => `${host}:${front.port}`) as [string, string, string];
  return {
    grpcUrl,
    httpUrl,
    metricsUrl: `http://${metricsAddress}/metrics`,
    startupLine:
      `tritune emulator (not a real Triton) with profile '${profile.name}': ` +
      `grpc ${grpcUrl}, http ${httpUrl}, metrics http://${metricsAddress}/metrics`,
    close: async () => {
      closing.abort(new ProtocolFailure('UNAVAILABLE', 'Server exiting'));
      await Promise.all(fronts.map((front) => front.close()));
      wakeUps.close();
      sharedMemory.close();
    },
  };
}

function entriesOf(options: EmulatorOptions, faults: Faults, around: Surroundings): ModelEntry[] {
  const { profile } = options;
  const random = seededRandom(options.seed ?? 1);
  const gpus = profile.device.kind === 'gpu' ? 1 : 0;
  const entryOf = (model: ModelProfile): ModelEntry => {
    const laws = (config: ModelConfig) => physicsOf(model, config, random);
    const stored = readStoredConfig(model.config);
    return new ModelEntry({ name: model.config.name, stored, gpus, physicsOf: laws, faults }, around);
  };
  return profile.models.map(entryOf);
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

function startMetricsFront(metrics: () => string, host: string, port: number): Promise<Front> {
  return startListening(
    (request, response) => {
      const known = (request.url ?? '').split('?')[0] === '/metrics';
      response.writeHead(known ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(known ? metrics() : '');
    },
    host,
    port,
  );
}

/** All or none: when one cannot listen, the others are closed again. */
async function startAll(starts: readonly (() => Promise<Front>)[]): Promise<Front[]> {
  const fronts: Front[] = [];
  try {
    for (const start of starts) fronts.push(await start());
    return fronts;
  } catch (error) {
    await Promise.all(fronts.map((front) => front.close()));
    throw new TrituneError(
      'LAUNCH_FAILED',
      `the emulator cannot listen: ${messageOf(error)}`,
      'choose other ports or host; port 0 takes any free one',
      { cause: error },
    );
  }
}
