import { isTrituneError, TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import { addressOf } from '../../loadgen/transports/address.ts';
import type { RequestSet } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { ClientSpec } from '../../spec/traffic-spec.ts';
import { diagnoseTls } from '../../triton/wire/tls.ts';
import { devicesOf, isOfThisMachine } from '../server/devices.ts';
import type { PlainContent } from '../traffic/http/content.ts';
import { type HttpServer, httpRequests, openHttp } from '../traffic/http/open-http.ts';
import { hasClasses, limitsOf } from '../traffic/workload.ts';
import { type LevelTarget, levelTarget, type TargetParts } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { GoodputLimits, LevelSpec, MeasuringSpec, ProfileOutputs } from './profile-spec.ts';
import { checkLimits } from './target.ts';

/** The requests and their destination. */
export interface HttpRequestTo extends HttpServer, Pick<PlainContent, 'bodies' | 'batch' | 'notes'> {
  /** The URL without a password, for people. */
  readonly url: string;
  /** The maximum number of requests in flight at a request rate. */
  readonly maxInFlight: number | undefined;
}

/** How levels are measured on an HTTP server. */
export type HttpLevelSpec = LevelSpec &
  MeasuringSpec &
  GoodputLimits &
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
  const { address, maxInFlight } = to;
  checkLimits(spec, plan);
  if (spec.collectMetrics && spec.metricsUrl === undefined && !isOfThisMachine(address)) {
    throw new TrituneError(
      'USAGE',
      'the address of the metrics is unknown',
      'add --metrics-url http://HOST:PORT/metrics',
    );
  }
  const requests = requestSetOf(to, plan);
  const sender = await openHttp(to, requests, spec.requestTimeout * MS_PER_S, spec);
  const metrics = spec.metricsUrl !== undefined && { metricsUrl: spec.metricsUrl };
  const parts: TargetParts = {
    serviceKind: 'HTTP',
    isDecoupled: false,
    assumptions: to.notes,
    fronts: [{ ...sender.sending, requests, stats: null }],
    devices: devicesOf({ server: { url: address, emulated: null }, ...metrics }, ''),
    ...(maxInFlight !== undefined && { usual: { openLoop: { maxInFlight } } }),
    check: async (measurement) => {
      const fault = silenceOf(measurement);
      if (fault) throw await noReply(fault.kind, fault.firstMessage, to);
    },
    explain: async (error) =>
      isTrituneError(error, 'SERVER_UNREACHABLE') ? await noReply('refused', error.message, to) : error,
    close: sender.close,
  };
  return levelTarget(parts, spec, plan, signal);
}

/** Returns the requests, those of each class in turn. Errors: USAGE for classes with their own requests. */
function requestSetOf(
  to: Pick<HttpRequestTo, 'url' | 'bodies' | 'batch'>,
  { workload }: Pick<ProfilePlan, 'workload'>,
): RequestSet {
  const one = httpRequests(to.url, to);
  if (!workload) return one;
  const { classes } = workload.workload;
  const other = classes.find(({ requests, prompts, model, endpoint }) => requests ?? prompts ?? model ?? endpoint);
  if (other) {
    throw new TrituneError(
      'USAGE',
      `class '${other.name}' says what to send, but plain HTTP sends the same requests for every class`,
      'keep only the weight and the limit of each class',
    );
  }
  if (!hasClasses(workload.workload)) return one;
  const { requests } = one;
  const own = classes.map((each) => ({
    name: each.name,
    requests: requests.length,
    ...(limitsOf(each) && { limits: each.limits }),
  }));
  return { ...one, requests: classes.flatMap(() => requests), classes: own };
}

/** Returns the first failure of a level without a single reply. */
function silenceOf({ requests, failures, replies }: Measurement): Measurement['failures'][number] | undefined {
  return requests > 0 && replies === undefined ? failures[0] : undefined;
}

/** Returns the error for a missing reply, also if TLS is the cause. */
async function noReply(kind: string, message: string, { url, address, tls }: HttpRequestTo): Promise<TrituneError> {
  const hint = 'check that the server is running, and read its log';
  if (kind === 'status')
    return new TrituneError(
      'SERVER_FAILED',
      `${url} refuses every request: ${message}`,
      'check the path, the model and the body',
    );
  const words = `${url} gave no reply`;
  if (kind === 'timeout') return new TrituneError('SERVER_TIMEOUT', `${words}: ${message}`, hint);
  const code = kind === 'malformed' ? 'SERVER_FAILED' : 'SERVER_UNREACHABLE';
  const trouble = await diagnoseTls(addressOf(address), tls);
  return new TrituneError(code, `${words}: ${trouble?.message ?? message}`, trouble?.hint ?? hint);
}
