import { realClock } from '../base/clock.ts';
import { messageOf, TrituneError } from '../base/errors.ts';
import { type Random, seededRandom } from '../base/random.ts';
import type { Backstage, Front } from './backstage.ts';
import { Device } from './device.ts';
import { bothFaults, type Faults } from './faults.ts';
import { startGrpcFront } from './grpc-front.ts';
import { startHttpFront, startListening } from './http-front.ts';
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
  /** What its trace settings name as their file; nothing is written there. Default none, and then it cannot be told to trace. */
  readonly traceFile?: string;
  /** Beside those of the profile. */
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
  /** Resolves when a fault has ended the server: connections cut, ports free, nothing answered any more. */
  readonly crashed: Promise<void>;
  /** Cuts all connections and frees the ports. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks Triton's protocols and whose models take the time that the profile says, inside this
 * process. Errors: LAUNCH_FAILED when it cannot listen, PROFILE_INVALID when a model cannot start at all.
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { profile, host = '127.0.0.1' } = options;
  const random = seededRandom(options.seed ?? 1);
  const faults = bothFaults(options.faults ?? {}, profileFaults(profile, random));
  const wakeUps = startWakeUps(realClock);
  const device = new Device(profile.device.memory_mib, realClock);
  const closing = new AbortController();
  const end = new Crash();
  const around = { clock: realClock, wakeUps, device, closing: closing.signal, crash: () => end.crash() };
  const models = entriesOf(profile, random, faults, around);
  const repository = new ModelRepository(models, options.controlMode ?? 'explicit');
  loadAtStart(profile, models, options.loadAtStart);
  const sharedMemory = new SharedMemoryRegistry();
  const stage: Backstage = {
    ...{ identity: serverIdentity(profile.name), repository, faults, sharedMemory },
    ...{
      traceSettings: new TraceSettings(options.traceFile),
      logSettings: new LogSettings(),
      crash: () => end.crash(),
    },
  };
  const metrics = metricsOf(profile, models, device, realClock);
  const fronts = await startAll([
    () => startGrpcFront(stage, host, options.grpcPort ?? 0),
    () => startHttpFront(stage, host, options.httpPort ?? 0),
    () => startMetricsFront(metrics, faults, host, options.metricsPort ?? 0),
  ]);
  const close = async (): Promise<void> => {
    closing.abort(new ProtocolFailure('UNAVAILABLE', 'Server exiting'));
    await Promise.all(fronts.map((front) => front.close()));
    await wakeUps.close();
    sharedMemory.close();
  };
  end.end = close;
  const [grpcUrl, httpUrl, metricsAddress] = fronts.map((front) => `${host}:${front.port}`) as [string, string, string];
  return {
    grpcUrl,
    httpUrl,
    metricsUrl: `http://${metricsAddress}/metrics`,
    startupLine:
      `tritune emulator (not a real Triton) with profile '${profile.name}': ` +
      `grpc ${grpcUrl}, http ${httpUrl}, metrics http://${metricsAddress}/metrics`,
    crashed: end.crashed,
    close,
  };
}

/** The end that a fault makes. */
class Crash {
  readonly crashed: Promise<void>;
  #resolve = (): void => undefined;
  /** What ends the server; the fault may come at any time after it is set. */
  end: () => Promise<void> = () => Promise.resolve();

  constructor() {
    this.crashed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  crash(): void {
    void this.end().then(this.#resolve);
  }
}

/** Of models and ensembles alike, by the name of their config. */
function entriesOf(profile: Profile, random: Random, faults: Faults, around: Surroundings): ModelEntry[] {
  const startNs = around.clock.nowNs();
  const elapsedNs = (): number => around.clock.nowNs() - startNs;
  const gpus = profile.device.kind === 'gpu' ? 1 : 0;
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

/** Nothing that a reader of metrics should take for one, and one line that it might. */
const MALFORMED_PAGE =
  '<html>\u0000{"metrics": [</html>\nnv_gpu_utilization{gpu_uuid="x} NaN eleven\nnv_gpu_power_usage';

function startMetricsFront(metrics: () => string, faults: Faults, host: string, port: number): Promise<Front> {
  return startListening(
    (request, response) => {
      const fault = faults.disturbMetrics?.() ?? null;
      if (fault === 'hang') return;
      if (fault === 'malformed') {
        response.end(MALFORMED_PAGE);
        return;
      }
      const known = fault === null && (request.url ?? '').split('?')[0] === '/metrics';
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
