import { isTrituneError, TrituneError } from '#base/errors.ts';
import { listed, plainLine } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import { emulatedProfileOfOwner, findEmulatedProfile } from '#emulator/wire/server-identity.ts';
import type { EndpointKind, EndpointOptions, LanguageEndpoint, OpenAiEndpoint } from '#loadgen/endpoints/endpoint.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import { askModels, listApiBases, type ModelsAnswer, type ServerAddress } from '#loadgen/endpoints/openai-models.ts';
import { textApis } from '#loadgen/endpoints/text-apis.ts';
import { textTensors } from '#loadgen/endpoints/triton-request.ts';
import type { Prompt } from '#loadgen/prompts/prompt.ts';
import { parseAddress } from '#loadgen/transports/address.ts';
import type { SendFailure, SendOutcome } from '#loadgen/types.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { diagnoseTls } from '#triton/wire/tls.ts';
import { checkLeftovers } from './leftover.ts';

/** The requested endpoint: a kind, `openai` for either of its two, or `auto`. */
export type RequestedEndpoint = EndpointKind | 'openai' | 'auto';

export interface FindOptions extends ServerAddress {
  readonly requestedEndpoint: RequestedEndpoint;
  /** Undefined for the only served model. */
  readonly model: string | undefined;
  readonly modelVersion: string;
  /** The path of the call, if the user gives one. */
  readonly path: string | undefined;
  readonly timeoutMs: number;
  readonly extra: EndpointOptions['extra'];
}

/** An endpoint that answers, with its model. */
export interface AnsweringEndpoint {
  readonly endpoint: LanguageEndpoint;
  readonly model: string;
  readonly server: Pick<ServerIdentity, 'name' | 'version' | 'emulated'>;
}

/** The longest time for a server to identify itself. */
const ASK_MS = 10 * MS_PER_S;
/** The longest time for a server to return two tokens, even its first ones. */
const TRY_MS = 120 * MS_PER_S;

/**
 * Finds out how to ask the server, from its model list, from a call of one or two tokens, and for a
 * Triton from the model's inputs. Errors: SERVER_UNREACHABLE, SERVER_TIMEOUT, SERVER_FAILED;
 * MODEL_UNKNOWN with the served models; UNSUPPORTED for a model without text.
 */
export async function findEndpoint(options: FindOptions): Promise<AnsweringEndpoint> {
  const { requestedEndpoint: endpoint } = options;
  if (endpoint === 'triton-generate' || endpoint === 'triton-grpc') return findTriton(options, endpoint);
  const models = await askModels(options, ASK_MS);
  if (endpoint !== 'auto') return findOpenAi(options, models);
  if (models.kind === 'models') return findOpenAi(options, models);
  return findTriton(options, models.kind === 'other' ? 'triton-generate' : 'triton-grpc').catch(
    async (error: unknown) => {
      throw isTrituneError(error, 'SERVER_UNREACHABLE', 'SERVER_FAILED', 'SERVER_TIMEOUT')
        ? await notFound(options, models)
        : error;
    },
  );
}

async function notFound(
  options: FindOptions,
  models: Exclude<ModelsAnswer, { readonly kind: 'models' }>,
): Promise<TrituneError> {
  if (models.kind === 'unreachable') return unreachable(options, models.message);
  return new TrituneError(
    'SERVER_FAILED',
    `${options.address} is neither an OpenAI server nor a Triton: it answers ${models.status} to GET ${models.path}`,
    'check the address, or name the API with --endpoint',
  );
}

/** Returns the error for a server that does not answer, also if TLS is the cause. */
async function unreachable({ address, tls }: FindOptions, message: string): Promise<TrituneError> {
  const trouble = await diagnoseTls(parseAddress(address), tls);
  return new TrituneError(
    'SERVER_UNREACHABLE',
    `${address} does not answer: ${plainLine(trouble?.message ?? message)}`,
    trouble?.hint ?? 'check that the server is running',
  );
}

async function findOpenAi(options: FindOptions, models: ModelsAnswer): Promise<AnsweringEndpoint> {
  if (models.kind === 'unreachable') throw await unreachable(options, models.message);
  const model = chooseModel(options, models);
  let refusal: Refusal | undefined;
  const missing = new Set<string>();
  for (const endpoint of listForms(options, models)) {
    const { path } = endpoint;
    if (missing.has(path)) continue;
    const outcome = await tryOut(options, model, endpoint);
    // An empty reply counts: the model may have ended immediately.
    if (outcome.ok || outcome.kind === 'empty') {
      const name = models.kind === 'models' && models.owner !== '' ? models.owner : 'openai';
      return { endpoint, model, server: { name, version: '', emulated: emulatedProfileOfOwner(name) } };
    }
    const isWhole = outcome.kind === 'malformed' && endpoint.isWhole !== true;
    if (outcome.kind !== 'status' && !isWhole) throw await ofFailure(options, { ...outcome, path });
    // The error for the most complete form is the most informative.
    refusal ??= { ...outcome, path };
    if (outcome.status === '404' || outcome.status === '405') missing.add(path);
    if (!isWhole && !isAboutTheForm(outcome)) break;
  }
  throw await ofFailure(options, refusal as Refusal);
}

/** Why a server did not answer a prompt, and at which path. */
interface Refusal extends SendFailure {
  readonly path: string;
}

function chooseModel({ model }: FindOptions, models: ModelsAnswer): string {
  const names = models.kind === 'models' ? models.names : [];
  if (model !== undefined) return model;
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  const hint = names.length > 0 ? `the server has ${listed(names)}` : 'the server does not list its models';
  throw new TrituneError('USAGE', 'the model is missing', `add -m MODEL; ${hint}`);
}

/**
 * Returns the request forms that a server may accept, the most complete first. Not all servers can
 * ignore the end token or report token counts.
 */
function listForms(
  { requestedEndpoint: endpoint, basePath, path, extra }: FindOptions,
  models: ModelsAnswer,
): readonly OpenAiEndpoint[] {
  const kinds = isTextApi(endpoint) ? [endpoint] : (['openai-chat', 'openai-completions'] as const);
  const bases = models.kind === 'models' ? [models.base] : listApiBases(basePath);
  return bases.flatMap((base) =>
    kinds.flatMap((kind) =>
      FORMS.filter(({ lengthField, isWhole }) => {
        if (extra?.stream === false && isWhole !== true) return false;
        return lengthField === undefined || kind === 'openai-chat';
      }).map((form) => ({ kind, path: path ?? `${base}${textApis[kind].path}`, ...form })),
    ),
  );
}

const FORMS: readonly Omit<OpenAiEndpoint, 'kind' | 'path'>[] = [
  { saysUsage: true, canIgnoreEnd: true },
  { saysUsage: true, canIgnoreEnd: false },
  { saysUsage: true, canIgnoreEnd: false, lengthField: 'max_completion_tokens' },
  { saysUsage: false, canIgnoreEnd: false },
  { saysUsage: false, canIgnoreEnd: true, isWhole: true },
  { saysUsage: false, canIgnoreEnd: false, isWhole: true },
  { saysUsage: false, canIgnoreEnd: false, isWhole: true, lengthField: 'max_completion_tokens' },
];

const isTextApi = (endpoint: RequestedEndpoint): endpoint is OpenAiEndpoint['kind'] =>
  Object.hasOwn(textApis, endpoint);

/** True if the server accepted the credentials but not the request. */
const isAboutTheForm = ({ status }: SendFailure): boolean =>
  ['400', '404', '405', '415', '422', '500', '501', 'STREAM_ERROR'].includes(status ?? '');

const shortPrompt: Prompt = {
  messages: [{ role: 'user', content: 'Hello' }],
  inputTokens: null,
  maxTokens: 2,
  ignoresEnd: true,
};

async function tryOut(options: FindOptions, model: string, endpoint: OpenAiEndpoint): Promise<SendOutcome> {
  const timeoutMs = Math.min(options.timeoutMs, TRY_MS);
  const transport = openEndpoint({ ...options, model, endpoint, timeoutMs });
  try {
    const prepared = transport.prepare({ model, version: '', inputs: [], batch: 1, prompt: shortPrompt });
    return await new Promise<SendOutcome>((resolve) => transport.send(prepared, resolve));
  } finally {
    await transport.close();
  }
}

async function ofFailure(options: FindOptions, { kind, status, message, path }: Refusal): Promise<TrituneError> {
  const { address, timeoutMs } = options;
  const words = `${address} answers a prompt at ${path} with ${status ?? kind}: ${plainLine(message)}`;
  if (kind === 'refused' || kind === 'reset') return unreachable(options, message);
  if (kind === 'timeout') {
    return new TrituneError(
      'SERVER_TIMEOUT',
      `${address} gave no reply within ${Math.min(timeoutMs, TRY_MS)} ms`,
      'check that the server is running and not overloaded',
    );
  }
  const isUnknown = status === '404';
  return isUnknown
    ? new TrituneError('MODEL_UNKNOWN', words, 'check -m and the path of the endpoint')
    : new TrituneError('SERVER_FAILED', words, chooseHint(status));
}

const chooseHint = (status: string | undefined): string =>
  status === '401' || status === '403'
    ? 'give its key with --token-env VARIABLE, or a header with -H'
    : 'read the log of the server';

/**
 * Returns the address of the requests: HOST:PORT, for a Triton over HTTP with the base path of a
 * gateway. The paths of other APIs have it.
 */
export const sendingAddress = (
  kind: EndpointKind,
  { address, basePath }: Pick<ServerAddress, 'address' | 'basePath'>,
): string => (kind === 'triton-generate' ? `${address}${basePath}` : address);

async function findTriton(
  { model, modelVersion: version, headers, tls, ...where }: FindOptions,
  kind: 'triton-generate' | 'triton-grpc',
): Promise<AnsweringEndpoint> {
  const address = sendingAddress(kind, where);
  const connect = kind === 'triton-grpc' ? connectGrpc : connectHttp;
  const client = connect(address, { tls, headers, defaultTimeoutMs: ASK_MS });
  try {
    const server = await client.serverMetadata();
    if (model === undefined) throw new TrituneError('USAGE', 'the model is missing', 'add -m MODEL');
    await checkLeftovers({ client, server: { url: address, controlUrl: address } }, [model]);
    const { inputs, outputs } = await client.modelMetadata(model);
    const { output } = textTensors(model, inputs, outputs);
    const identity = { name: server.name, version: server.version, emulated: findEmulatedProfile(server) };
    return { endpoint: { kind, version, inputs, output }, model, server: identity };
  } finally {
    await client.close();
  }
}
