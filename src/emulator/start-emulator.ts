import { realClock } from '#base/clock.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import type { Faults } from './faults.ts';
import { startGrpcFront } from './grpc/front.ts';
import { startHttpFront, startListening } from './http/front.ts';
import { type EmulatedServerOptions, openEmulatedServer } from './open-server.ts';
import { startWakeUps } from './scheduling/wake-ups.ts';
import type { ListeningFront } from './server-context.ts';

export interface EmulatorOptions extends EmulatedServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0, the default, takes any free port. */
  readonly grpcPort?: number;
  readonly httpPort?: number;
  readonly metricsPort?: number;
}

export interface Emulator {
  /** HOST:PORT of each protocol. */
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** URL of the Prometheus metrics: http://HOST:PORT/metrics */
  readonly metricsUrl: string;
  /** A one-line description of the server, for people. */
  readonly startupLine: string;
  /** Resolves when a fault has ended the server: connections cut, ports free, no more answers. */
  readonly crashed: Promise<void>;
  /** Cuts all connections and frees the ports. */
  close(): Promise<void>;
}

/**
 * Starts a server inside this process that speaks Triton's protocols and whose models take the
 * times of the profile. Errors: LAUNCH_FAILED if it cannot listen, PROFILE_INVALID if a model
 * cannot start at all.
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { profile, host = '127.0.0.1' } = options;
  const wakeUps = startWakeUps(realClock);
  const end = new Crash();
  const { context, metrics, ...opened } = openEmulatedServer(options, realClock, wakeUps, () => end.crash());
  const fronts = await startAll([
    () => startGrpcFront(context, host, options.grpcPort ?? 0),
    () => startHttpFront(context, host, options.httpPort ?? 0),
    () => startMetricsFront(metrics, context.faults, host, options.metricsPort ?? 0),
  ]);
  const close = async (): Promise<void> => {
    await Promise.all(fronts.map((front) => front.close()));
    await wakeUps.close();
    opened.close();
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

/** The end of the server by a fault. */
class Crash {
  readonly crashed: Promise<void>;
  #resolve = (): void => undefined;
  /** Ends the server; the fault may come at any time after this is set. */
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

/** Text that a metrics reader must reject, and one line that it might accept. */
const MALFORMED_PAGE =
  '<html>\u0000{"metrics": [</html>\nnv_gpu_utilization{gpu_uuid="x} NaN eleven\nnv_gpu_power_usage';

function startMetricsFront(metrics: () => string, faults: Faults, host: string, port: number): Promise<ListeningFront> {
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

/** Starts all or none: if one cannot listen, the others are closed again. */
async function startAll(starts: readonly (() => Promise<ListeningFront>)[]): Promise<ListeningFront[]> {
  const fronts: ListeningFront[] = [];
  try {
    for (const start of starts) fronts.push(await start());
    return fronts;
  } catch (error) {
    await Promise.all(fronts.map((front) => front.close()));
    throw new TrituneError(
      'LAUNCH_FAILED',
      `the emulator cannot listen: ${formatMessage(error)}`,
      'choose other ports or host; port 0 takes any free one',
      { cause: error },
    );
  }
}
