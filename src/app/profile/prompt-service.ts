import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import type { EndpointOptions } from '#loadgen/endpoints/endpoint.ts';
import { textApis } from '#loadgen/endpoints/text-apis.ts';
import type { ObservedRequest } from '#loadgen/observed-transport.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { PlayedFront } from '#profiler/play.ts';
import { isTextEndpoint, languageEndpoints, textEndpoints } from '#spec/language-spec.ts';
import type { EndpointSpec } from '#spec/profile-spec.ts';
import type { HeaderSpec, Protocol, TlsSpec } from '#spec/server-spec.ts';
import { findEndpoint, type RequestedEndpoint, sendingAddress } from '../server/find-endpoint.ts';
import { readHeaders } from '../server/headers.ts';
import { type ClassPrompts, prepareClassPrompts } from '../traffic/class-prompts.ts';
import { checkObservable } from '../traffic/client-threads.ts';
import { openPromptTraffic } from '../traffic/open-prompts.ts';
import { promptWindows } from '../traffic/prompt-windows.ts';
import { preparePrompts } from '../traffic/prompts.ts';
import type { Sender } from '../traffic/sender.ts';
import { type WorkloadFront, listFronts as workloadFronts } from '../traffic/workload.ts';
import { type LevelListener, levelTarget } from './measuring.ts';
import { type ProfilePlan, planProfile } from './plan.ts';
import {
  type FindService,
  gpusOfUnknown,
  type ServedTarget,
  type ServiceSetting,
  type ServiceSpec,
} from './service.ts';
import { checkMetricsKnown, devicesAt, readUrl } from './service-url.ts';

/** A model, its requests, and its part of the workload, if any. */
interface PromptFront {
  readonly model: string;
  readonly prompts: ClassPrompts;
  readonly part?: WorkloadFront;
}

/**
 * Finds the endpoint of a language model, and prepares its requests. It is measured like a tensor
 * model, plus the times of its tokens.
 */
export const findPrompts: FindService = async (options, asFarAsKnown, setting) => {
  const { call, ...where } = await readServer(options);
  const askedEndpoint = call ?? splitEndpoint(options, where.basePath);
  checkMetricsKnown(options, where.address);
  const how = { timeoutMs: options.requestTimeout * MS_PER_S, extra: options.extraInputs };
  const modelName = { model: options.model, modelVersion: options.modelVersion ?? '' };
  const { endpoint, model, server } = await findEndpoint({ ...where, ...askedEndpoint, ...modelName, ...how });
  const address = sendingAddress(endpoint.kind, where);

  setting.tell(`${model} on ${server.name} ${server.version} at ${where.address}, by ${endpoint.kind}`);
  const { fronts, plan } = await readFronts({ ...options, model }, asFarAsKnown);
  return {
    model,
    endpoint: endpoint.kind,
    server: { ...server, url: where.address },
    protocol: endpoint.kind === 'triton-grpc' ? 'grpc' : 'http',
    plan,
    hasAnswered: true,
    open: () => openService({ ...where, ...how, address, model, endpoint }, fronts, options, plan, setting),
    close: () => Promise.resolve(),
  };
};

const WHOLE_REPLIES = 'replies come whole, not as streams: TTFT counts to their end, and there is no ITL and no TPOT';

/** Errors: USAGE. Those of `measure`: SERVER_*, INTERRUPTED. */
async function openService(
  to: EndpointOptions,
  fronts: readonly PromptFront[],
  spec: ServiceSpec,
  plan: ProfilePlan,
  { signal, maxInFlight }: ServiceSetting,
): Promise<ServedTarget> {
  const { address, endpoint } = to;
  const senders: Sender[] = [];
  const close = async (): Promise<void> => {
    for (const sender of senders) await sender.close();
  };
  const played: PlayedFront[] = [];
  let listening: LevelListener | undefined;
  const observes = spec.profileExportFile !== undefined;
  if (observes) checkObservable(spec);
  const onObserved = observes ? (each: ObservedRequest) => listening?.onRequest(each, []) : undefined;
  try {
    for (const { model, prompts, part } of fronts) {
      const { requests } = prompts;
      const sender = await openPromptTraffic({ ...to, model }, requests, spec, onObserved);
      senders.push(sender);
      played.push({ ...sender.sending, requests, stats: null, classes: part?.indexes });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const isTriton = endpoint.kind.startsWith('triton');
  const target = levelTarget(
    {
      serviceKind: isTriton ? 'TRITON' : 'OPENAI',
      isDecoupled: isTriton,
      assumptions: [
        ...fronts.flatMap(({ prompts }) => prompts.notes),
        ...('isWhole' in endpoint && endpoint.isWhole ? [WHOLE_REPLIES] : []),
      ],
      fronts: played,
      devices: devicesAt(address, spec, to.model),
      onLevel: (listener) => {
        listening = listener;
      },
      usual: {
        windows: promptWindows,
        // Requests left over from one level must not affect the next.
        drainMs: spec.requestTimeout * MS_PER_S,
        ...(maxInFlight !== undefined && { openLoop: { maxInFlight } }),
      },
      check: (measurement) => checkServed(measurement, address),
      close,
    },
    spec,
    plan,
    signal,
  );
  return {
    ...target,
    windows: { ...defaultWindowRule, ...promptWindows },
    followsHost: false,
    batch: 1,
    countGpus: gpusOfUnknown(spec),
  };
}

/** Errors: SERVER_FAILED for a level without a single complete reply. */
function checkServed({ requests, errorRate, failures }: Measurement, address: string): void {
  const [first] = failures;
  if (requests === 0 || errorRate < 1 || first === undefined) return;
  throw new TrituneError(
    'SERVER_FAILED',
    `${address} gave no complete reply: ${first.kind}: ${first.firstMessage}`,
    'read the log of the server',
  );
}

/**
 * Returns the model and its requests, or those of each model that the classes of a workload name. A
 * trace says when its requests are due.
 */
async function readFronts(
  options: ServiceSpec & { readonly model: string },
  asFarAsKnown: ProfilePlan,
): Promise<{ readonly fronts: readonly PromptFront[]; readonly plan: ProfilePlan }> {
  const { model } = options;
  const setting = { model, seed: options.seed, traceSpeed: options.traceSpeed };
  const { workload } = asFarAsKnown;
  if (!workload) {
    const prompts = await preparePrompts(options, setting);
    const plan = prompts.schedule ? await planProfile(options, false, prompts.schedule) : asFarAsKnown;
    return { fronts: [{ model, prompts }], plan };
  }
  const fronts: PromptFront[] = [];
  for (const part of workloadFronts(workload, model)) {
    fronts.push({ model: part.model, part, prompts: await prepareClassPrompts(part, options, setting, workload) });
  }
  return { fronts, plan: asFarAsKnown };
}

/**
 * Returns the server of a language model. Errors: USAGE, INPUT_INVALID for files of headers and
 * certificates.
 */
async function readServer(options: TlsSpec & HeaderSpec & { readonly url?: string }) {
  if (options.url === undefined) throw usage('the address of the language model is missing', 'add -u HOST:PORT');
  const { url, tls } = await readUrl(options.url, options);
  if (url.credentials !== undefined)
    throw usage('the address contains a password', 'give it as a header: -H "Authorization: …"');
  const [path = '', query] = url.target.split('?', 2);
  const kind = findApi(path);
  if (query !== undefined && !kind)
    throw usage(
      'the address has a query without the path of a call',
      'give the whole URL, such as …/chat/completions?…',
    );
  return {
    address: url.address,
    host: url.host,
    basePath: path.slice(0, kind && -textApis[kind].path.length).replace(/\/(v1\/?)?$/, ''),
    headers: readHeaders(options),
    tls,
    /** The call, if the address is the whole URL of one. */
    call: kind && { requestedEndpoint: kind, path: url.target },
  };
}

/** Returns the API whose call has this path; undefined if none has. */
const findApi = (path: string): RequestedApi | undefined =>
  (Object.keys(textApis) as RequestedApi[]).find((kind) => path.endsWith(textApis[kind].path));

type RequestedApi = keyof typeof textApis;

const kinds: readonly RequestedEndpoint[] = languageEndpoints.flatMap((each) => (isTextEndpoint(each) ? [] : [each]));

/**
 * A path, below the base of the address, belongs to a call of OpenAI's or Anthropic's; its last
 * part says which one. perf_analyzer's -i only repeats what the endpoint says better.
 */
function splitEndpoint(
  { endpoint = 'openai', protocol }: EndpointSpec & { readonly protocol: Protocol },
  basePath: string,
): {
  readonly requestedEndpoint: RequestedEndpoint;
  readonly path: string | undefined;
} {
  const kind = kinds.find((each) => each === endpoint);
  if (protocol === 'grpc' && kind === 'auto') return { requestedEndpoint: 'triton-grpc', path: undefined };
  if (protocol === 'grpc' && kind !== 'triton-grpc') throw usage('this endpoint uses HTTP', 'leave out -i');
  if (kind) return { requestedEndpoint: kind, path: undefined };
  if (!endpoint.includes('/')) throw usage(`there is no endpoint '${endpoint}'`, `use ${kinds.join(', ')}, or a path`);
  const named = `/${endpoint.replace(/^\//, '')}`;
  const text = textEndpoints.find((each) => named.endsWith(`/${each}`));
  if (text) throw usage(`'${endpoint}' is no call that generates text`, `write --endpoint ${text}`);
  const path = named.startsWith(`${basePath}/`) ? named : `${basePath}${named}`;
  return { requestedEndpoint: findApi(path) ?? (path.includes('chat') ? 'openai-chat' : 'openai-completions'), path };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
