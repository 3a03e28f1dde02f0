import { openAlarm } from '../../base/alarm.ts';
import { isTrituneError, TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import { nullRuns } from '../../loadgen/client/ceiling.ts';
import type { PlainHttpRequest } from '../../loadgen/plain-http/plain-http.ts';
import { addressOf } from '../../loadgen/transports/address.ts';
import type { RequestHeader, RequestSet } from '../../loadgen/types.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { ClientSpec } from '../../spec/traffic-spec.ts';
import { diagnoseTls, type TlsOptions } from '../../triton/wire/tls.ts';
import { devicesOf, isOfThisMachine } from '../server/devices.ts';
import { clientThreadsOf } from '../traffic/client-threads.ts';
import { type LevelTarget, measuringOf, reported } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { LevelSpec, MeasuringSpec, ProfileOutputs } from './profile-spec.ts';

/** One request and its destination. */
export interface HttpRequestTo {
  /** The URL without a password, for people. */
  readonly url: string;
  /** HOST:PORT */
  readonly address: string;
  readonly tls: TlsOptions | undefined;
  readonly request: PlainHttpRequest;
  /** Headers with secret values, which are never shown. */
  readonly secrets: readonly RequestHeader[];
  readonly keepsAlive: boolean;
  /** The maximum number of requests in flight at a request rate. */
  readonly maxInFlight: number | undefined;
}

/** How levels are measured on an HTTP server. */
export type HttpLevelSpec = LevelSpec &
  MeasuringSpec &
  ClientSpec &
  Pick<ProfileOutputs, 'collectMetrics' | 'metricsUrl'>;

/**
 * Opens any HTTP/1.1 server. It is measured like a model, but has no statistics of its own. Device figures come from the named metrics page, and
 * from nvidia-smi if the server is on this machine. Errors: USAGE. Those of `measure`: also SERVER_UNREACHABLE, SERVER_TIMEOUT or SERVER_FAILED if
 * no reply came at all.
 */
export async function openHttpTarget(
  to: HttpRequestTo,
  spec: HttpLevelSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): Promise<LevelTarget> {
  const { address, tls, request, secrets, keepsAlive, maxInFlight } = to;
  if (spec.collectMetrics && spec.metricsUrl === undefined && !isOfThisMachine(address)) {
    throw new TrituneError(
      'USAGE',
      'the address of the metrics is unknown',
      'add --metrics-url http://HOST:PORT/metrics',
    );
  }
  const options = { address, tls, keepsAlive, timeoutMs: spec.requestTimeout * MS_PER_S };
  const workers = await clientThreadsOf(spec, { protocol: 'plain-http', options, request, secrets });
  const requests = requestSetOf(to.url);
  const runs = nullRuns(workers, { protocol: 'http', requests });
  await runs.warmUp();
  const alarm = openAlarm();
  const metrics = spec.metricsUrl !== undefined && { metricsUrl: spec.metricsUrl };
  const devices = devicesOf({ server: { url: address, emulated: null }, ...metrics }, '');
  return {
    serviceKind: 'HTTP',
    isDecoupled: false,
    assumptions: [],
    hostWorkUs: devices.hostWorkUs,
    measure: async (level, listener, change) => {
      const measurement = await measureLevel({
        transport: nothingHere,
        requests,
        level,
        stats: null,
        signal,
        ...measuringOf(spec, plan),
        onProgress: (progress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        alarm,
        openFlow: (order) => workers.openFlow(order),
        watchClient: workers.watchClient,
        maxErrors: spec.maxErrors,
        ...(maxInFlight !== undefined && { openLoop: { maxInFlight } }),
        // The null server speaks no TLS.
        ...(!tls && { clientCeiling: runs.ceiling }),
        ...change,
      }).catch(async (error: unknown) => {
        throw isTrituneError(error, 'SERVER_UNREACHABLE') ? await noReply('refused', error.message, to) : error;
      });
      const fault = silenceOf(measurement);
      if (fault) throw await noReply(fault.kind, fault.firstMessage, to);
      return reported(measurement, plan, false);
    },
    close: async () => {
      await alarm.close();
      await workers.close();
      await devices.close();
    },
  };
}

/** Only the threads send; this thread never does. */
const nothingHere = {
  prepare: (request: RequestSet['requests'][number]) => ({ request }),
  send: () => undefined,
  close: () => Promise.resolve(),
};

/** A stub: the load generator requires inference requests, but the HTTP request is not among them. */
const requestSetOf = (url: string): RequestSet => ({
  model: url,
  version: '',
  batch: 1,
  requests: [{ model: url, version: '', inputs: [], batch: 1 }],
});

/** Returns the first failure of a level without a single reply. */
function silenceOf({ requests, failures, replies }: Measurement): Measurement['failures'][number] | undefined {
  return requests > 0 && replies === undefined ? failures[0] : undefined;
}

/** Returns the error for a missing reply, also if TLS is the cause. */
async function noReply(kind: string, message: string, { url, address, tls }: HttpRequestTo): Promise<TrituneError> {
  const hint = 'check that the server is running, and read its log';
  const words = `${url} gave no reply`;
  if (kind === 'timeout') return new TrituneError('SERVER_TIMEOUT', `${words}: ${message}`, hint);
  const code = kind === 'malformed' ? 'SERVER_FAILED' : 'SERVER_UNREACHABLE';
  const trouble = await diagnoseTls(addressOf(address), tls);
  return new TrituneError(code, `${words}: ${trouble?.message ?? message}`, trouble?.hint ?? hint);
}
