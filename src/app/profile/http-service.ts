import { isTrituneError, TrituneError } from '#base/errors.ts';
import { secretsInUrl, shownUrl } from '#base/secrets.ts';
import { MS_PER_S } from '#base/units.ts';
import { parseAddress } from '#loadgen/transports/address.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { diagnoseTls } from '#triton/wire/tls.ts';
import { isOfThisMachine } from '../server/devices.ts';
import { readContent } from '../traffic/content-of-kind.ts';
import type { PlainContent } from '../traffic/http-content.ts';
import { type HttpServer, httpRequests, openHttp } from '../traffic/open-http.ts';
import { findLimits, hasClasses } from '../traffic/workload.ts';
import { levelTarget } from './measuring.ts';
import { checkLimits, type ProfilePlan } from './plan.ts';
import {
  type FindService,
  gpusOfUnknown,
  type ServedTarget,
  type ServiceSetting,
  type ServiceSpec,
} from './service.ts';
import { checkMetricsKnown, devicesAt, readUrl } from './service-url.ts';

/** The requests and their destination. */
interface HttpRequestTo extends HttpServer, Pick<PlainContent, 'bodies' | 'batch' | 'notes'> {
  /** The URL without a password, for people. */
  readonly url: string;
}

/**
 * Takes any HTTP/1.1 server, of which nothing is known before a request is sent. It is measured
 * like a model, but has no statistics of its own. Device figures come from the named metrics page,
 * and from nvidia-smi if the server is on this machine.
 */
export const findHttp: FindService = async (options, plan, setting) => {
  if (options.protocol !== 'http') throw usage('--service-kind http always uses HTTP/1.1', 'leave out -i');
  checkLimits(options, plan);
  const to = await requestTo(options);
  checkMetricsKnown(options, to.address);
  return {
    model: options.model ?? to.url,
    server: { name: 'http', version: '', url: to.url, emulated: null },
    protocol: 'http',
    plan,
    hasAnswered: false,
    open: () => openService(to, options, plan, setting),
    close: () => Promise.resolve(),
  };
};

/**
 * Errors of its `measure`: also SERVER_UNREACHABLE, SERVER_TIMEOUT or SERVER_FAILED if no reply
 * came at all.
 */
async function openService(
  to: HttpRequestTo,
  spec: ServiceSpec,
  plan: ProfilePlan,
  { signal, maxInFlight }: ServiceSetting,
): Promise<ServedTarget> {
  const { address } = to;
  const requests = toRequestSet(to, plan);
  const sender = await openHttp(to, requests, spec.requestTimeout * MS_PER_S, spec);
  const target = levelTarget(
    {
      serviceKind: 'HTTP',
      isDecoupled: false,
      assumptions: to.notes,
      fronts: [{ ...sender.sending, requests, stats: null }],
      devices: devicesAt(address, spec, null),
      ...(maxInFlight !== undefined && { usual: { openLoop: { maxInFlight } } }),
      check: async (measurement) => {
        const fault = toSilence(measurement);
        if (fault) throw await noReply(fault.kind, fault.firstMessage, to);
      },
      explain: async (error) =>
        isTrituneError(error, 'SERVER_UNREACHABLE') ? await noReply('refused', error.message, to) : error,
      close: sender.close,
    },
    spec,
    plan,
    signal,
  );
  return {
    ...target,
    windows: defaultWindowRule,
    // The machine that computes behind the URL is unknown.
    followsHost: isOfThisMachine(address),
    batch: to.batch,
    countGpus: gpusOfUnknown(spec),
  };
}

/** Errors: USAGE, INPUT_INVALID for a body or a certificate that cannot be read. */
async function requestTo(options: ServiceSpec): Promise<HttpRequestTo> {
  if (options.url === undefined) {
    throw usage('the URL is missing', 'add it, for example -u http://localhost:8000/inference');
  }
  const { url, tls } = await readUrl(options.url, options);
  const content = await readContent(options, url.credentials);
  const { host = url.host, method, headers, body, secrets, bodies, batch, refusalsFail, notes } = content;
  // The API of an address without a path.
  const hasPath = url.target !== '/' && options.path === undefined;
  const target = hasPath ? url.target : (content.path ?? url.target);
  return {
    url: shownUrl(options.url),
    address: url.address,
    tls,
    request: { method, headers, body, host, target },
    bodies,
    batch,
    refusalsFail,
    notes,
    secrets: [...secrets, ...secretsInUrl(options.url).map((value) => ({ name: 'url', value }))],
    keepsAlive: !options.disableKeepalive,
  };
}

/**
 * Returns the requests, those of each class in turn. Errors: USAGE for classes with their own
 * requests.
 */
function toRequestSet(
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
  const requestClasses = classes.map((each) => ({
    name: each.name,
    requests: requests.length,
    ...(findLimits(each) && { limits: each.limits }),
  }));
  return { ...one, requests: classes.flatMap(() => requests), classes: requestClasses };
}

/** Returns the first failure of a level without a single reply. */
function toSilence({ requests, failures, replies }: Measurement): Measurement['failures'][number] | undefined {
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
  const trouble = await diagnoseTls(parseAddress(address), tls);
  return new TrituneError(code, `${words}: ${trouble?.message ?? message}`, trouble?.hint ?? hint);
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
