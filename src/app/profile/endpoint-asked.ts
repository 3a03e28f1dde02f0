import { TrituneError } from '../../base/errors.ts';
import { plainHttpUrl } from '../../loadgen/plain-http/url.ts';
import type { HeaderSpec, Protocol, TlsSpec } from '../../spec/server-spec.ts';
import type { PromptSpec } from '../../workload/prompt-spec.ts';
import type { AskedEndpoint } from '../server/find-endpoint.ts';
import { headersOf } from '../server/headers.ts';
import { readTls } from '../server/read-tls.ts';
import { wantsTls } from '../server/tls.ts';
import { classPromptsOf } from '../traffic/class-prompts.ts';
import { promptsOf } from '../traffic/prompts.ts';
import { frontsOf as workloadFronts } from '../traffic/workload.ts';
import type { EndpointFront } from './endpoint-target.ts';
import { type ProfilePlan, planProfile } from './plan.ts';
import type { EndpointSpec, ProfileSpec } from './profile-spec.ts';

/** Returns the model and its requests, or those of each model that the classes of a workload name. A trace says when its requests are due. */
export async function frontsOf(
  options: ProfileSpec & EndpointSpec & PromptSpec & { readonly model: string },
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

/** Returns the server of a language model. Errors: USAGE, INPUT_INVALID for files of headers and certificates. */
export async function serverOf(options: TlsSpec & HeaderSpec & { readonly url?: string }) {
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

/** A path belongs to an OpenAI call; its last part says which one. perf_analyzer's -i only repeats what the endpoint says better. */
export function askedOf({ endpoint = 'openai', protocol }: EndpointSpec & { readonly protocol: Protocol }): {
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
