import { openProfileDocuments } from '../../../app/profile/documents.ts';
import { type EndpointFront, openEndpointTarget } from '../../../app/profile/endpoint-target.ts';
import { profileHead } from '../../../app/profile/head.ts';
import { type ProfilePlan, planProfile } from '../../../app/profile/plan.ts';
import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import { type AskedEndpoint, findEndpoint } from '../../../app/server/find-endpoint.ts';
import { headersOf } from '../../../app/server/headers.ts';
import { readTls } from '../../../app/server/read-tls.ts';
import { wantsTls, warnIfInsecure } from '../../../app/server/tls.ts';
import { classPromptsOf } from '../../../app/traffic/class-prompts.ts';
import { promptsOf } from '../../../app/traffic/prompts.ts';
import { frontsOf as workloadFronts } from '../../../app/traffic/workload.ts';
import { TrituneError } from '../../../base/errors.ts';
import { MS_PER_S } from '../../../base/units.ts';
import { plainHttpUrl } from '../../../loadgen/plain-http/url.ts';
import { sweep } from '../../../profiler/sweep.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { Terminal } from '../../terminal.ts';
import { measureLevels } from './levels.ts';
import { loadOf } from './load.ts';
import type { ProfileOptions } from './options.ts';
import { withoutAliases } from './perf-analyzer-aliases.ts';
import { interruptible } from './run.ts';

/** The options of `profile` with those of language models. */
export type EndpointOptions = ProfileOptions & EndpointSpec & PromptSpec;

/**
 * Measures a language model level after level, with the times of its tokens. Gives the exit code. Errors: USAGE, INPUT_INVALID, OUTPUT_*,
 * MODEL_UNKNOWN, UNSUPPORTED; SERVER_* when no whole reply ever came, or when the server went away.
 */
export async function runEndpoint(given: EndpointOptions, terminal: Terminal): Promise<number> {
  const { options, maxInFlight } = loadOf({ ...given, ...withoutAliases(given) });
  const { asked, path } = askedOf(options);
  // Faults in the options are reported before the server is contacted.
  const asFarAsKnown = await planProfile(options, false);
  warnIfInsecure(options, terminal);
  const where = await serverOf(options);
  const timeoutMs = options.requestTimeout * MS_PER_S;
  const found = await findEndpoint({
    ...where,
    asked,
    path,
    model: options.model,
    modelVersion: options.modelVersion ?? '',
    timeoutMs,
    extra: options.extraInputs,
  });
  const { endpoint, model } = found;
  const { fronts, plan } = await frontsOf({ ...options, model }, asFarAsKnown);
  const protocol = endpoint.kind === 'triton-grpc' ? 'grpc' : 'http';
  const spec = { ...options, protocol } as const;
  const server = { ...found.server, url: where.address, emulated: null };
  const head = { ...profileHead(spec, plan, server, model, process.argv.slice(2)), endpoint: endpoint.kind };
  terminal.tell(`${model} on ${server.name} ${server.version} at ${where.address}, by ${endpoint.kind}`);
  const outcome = await interruptible(terminal, async (signal, reports) => {
    const documents = await openProfileDocuments(spec, plan, head);
    try {
      const asked = {
        options: { ...where, model, endpoint, timeoutMs, extra: options.extraInputs },
        fronts,
        maxInFlight,
      };
      const target = await openEndpointTarget(asked, spec, plan, signal);
      const run = { options: spec, plan, alike: false, documents, terminal, reports };
      await measureLevels(run, target, (measure) => sweep(plan.sweep, measure));
    } finally {
      await documents.close();
    }
  });
  return outcome.wasInterrupted ? exitCodes.interrupted : exitCodes.done;
}

/** What the model is asked; of a workload each of the models that its classes name. A trace says when its requests are due. */
export async function frontsOf(
  options: EndpointOptions & { readonly model: string },
  asFarAsKnown: ProfilePlan,
): Promise<{ readonly fronts: readonly [EndpointFront, ...EndpointFront[]]; readonly plan: ProfilePlan }> {
  const { model } = options;
  const setting = { model, seed: options.seed, traceSpeed: options.traceSpeed };
  const { workload } = asFarAsKnown;
  if (!workload) {
    const prompts = await promptsOf(options, setting);
    const plan = prompts.schedule ? await planProfile(options, false, prompts.schedule) : asFarAsKnown;
    return { fronts: [{ model, prompts }], plan };
  }
  const fronts: EndpointFront[] = [];
  for (const part of workloadFronts(workload, model)) {
    fronts.push({ model: part.model, part, prompts: await classPromptsOf(part, options, setting, workload) });
  }
  return { fronts: fronts as [EndpointFront, ...EndpointFront[]], plan: asFarAsKnown };
}

export async function serverOf(options: EndpointOptions) {
  if (options.url === undefined) throw usage('the address of the language model is missing', 'add -u HOST:PORT');
  const url = plainHttpUrl(options.url, wantsTls(options));
  if (url.credentials !== undefined)
    throw usage('the address contains a password', 'give it as a header: -H "Authorization: …"');
  if (url.isSecure === false && wantsTls(options)) {
    throw usage('http:// excludes TLS, but there are TLS options', 'write https://, or leave out the TLS options');
  }
  const isSecure = url.isSecure ?? wantsTls(options);
  return {
    address: url.address,
    host: url.host,
    basePath: url.target.replace(/\/(v1\/?)?$/, ''),
    headers: headersOf(options),
    tls: isSecure ? await readTls(options) : undefined,
  };
}

const kinds: readonly AskedEndpoint[] = [
  ...(['auto', 'openai', 'openai-chat', 'openai-completions'] as const),
  ...(['triton-generate', 'triton-grpc'] as const),
];

/** A path is of an OpenAI call, whose end says which. perf_analyzer's -i only says what the endpoint says better. */
export function askedOf({ endpoint = 'openai', protocol }: EndpointOptions): {
  readonly asked: AskedEndpoint;
  readonly path: string | undefined;
} {
  const kind = kinds.find((each) => each === endpoint);
  if (protocol === 'grpc' && kind === 'auto') return { asked: 'triton-grpc', path: undefined };
  if (protocol === 'grpc' && kind !== 'triton-grpc') throw usage('this endpoint uses HTTP', 'leave out -i');
  if (kind) return { asked: kind, path: undefined };
  if (!endpoint.includes('/')) throw usage(`there is no endpoint '${endpoint}'`, `use ${kinds.join(', ')}, or a path`);
  const path = `/${endpoint.replace(/^\//, '')}`;
  return { asked: path.includes('chat') ? 'openai-chat' : 'openai-completions', path };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
