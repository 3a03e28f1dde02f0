import { splitBasePath } from '#triton/wire/base-path.ts';
import { Http1Connections } from '../transports/http1-connections.ts';
import { requestBytes } from '../transports/http1-request.ts';
import type { ResponseParser } from '../transports/http1-response-parser.ts';
import { badStatus } from '../transports/outcome.ts';
import { createEndpoint } from '../transports/socket.ts';
import type { InferRequest, PreparedRequest, SendOutcome, Transport } from '../types.ts';
import type { EndpointOptions } from './endpoint.ts';
import { EventStreamReply } from './event-stream-reply.ts';
import { withInputTokens } from './reply-timing.ts';
import { createTritonEvents } from './stream-event.ts';
import { textApis } from './text-apis.ts';
import { tritonValues } from './triton-request.ts';
import { WholeReply } from './whole-reply.ts';

interface EventRequest extends PreparedRequest {
  /** Head and body. */
  readonly bytes: Buffer;
}

/**
 * Language models that reply over HTTP/1.1, with streams of server-sent events or with one JSON:
 * one connection per request in flight.
 */
export class EventEndpoint implements Transport<EventRequest> {
  readonly #options: EndpointOptions;
  readonly #connections: Http1Connections;

  /** Errors: USAGE for a bad address. */
  constructor(options: EndpointOptions) {
    this.#options = options;
    const { address, tls, timeoutMs, endpoint, gate } = options;
    const isTriton = 'inputs' in endpoint;
    const format = isTriton ? createTritonEvents(endpoint.output) : textApis[endpoint.kind].events;
    const isWhole = !isTriton && endpoint.isWhole === true;
    this.#connections = new Http1Connections(createEndpoint(address, tls, 'http/1.1', gate), timeoutMs, {
      toOutcome,
      keepsErrors: true,
      timesRequests: true,
      bodyReader: () => (isWhole ? new WholeReply(format) : new EventStreamReply(format)),
    });
  }

  prepare(request: InferRequest): EventRequest {
    const { host, headers } = this.#options;
    const names = new Set(headers.map(({ name }) => name));
    const { endpoint } = this.#options;
    const ownHeaders = [
      { name: 'content-type', value: 'application/json' },
      { name: 'accept', value: 'text/event-stream' },
      ...('inputs' in endpoint ? [] : textApis[endpoint.kind].headers),
    ];
    const { path, body } = createCall(this.#options, request);
    const all = [...ownHeaders.filter(({ name }) => !names.has(name)), ...headers];
    const bytes = Buffer.from(JSON.stringify({ ...body, ...this.#options.extra }));
    return { request, bytes: requestBytes({ method: 'POST', host, target: path, headers: all, body: bytes }) };
  }

  send({ bytes, request }: EventRequest, done: (outcome: SendOutcome) => void): void {
    const { inputTokens, wantsText = false } = request.prompt ?? {};
    this.#connections.send(bytes, (outcome) => done(withInputTokens(outcome, inputTokens)), wantsText);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

interface Call {
  readonly path: string;
  readonly body: object;
}

/** Returns path and body of the call. A request without a prompt is a bug of ours. */
export function createCall(
  { address, endpoint, model }: Pick<EndpointOptions, 'address' | 'endpoint' | 'model'>,
  { prompt }: InferRequest,
): Call {
  if (!prompt) throw new Error('a language endpoint is sent prompts');
  if (!('inputs' in endpoint)) {
    return { path: endpoint.path, body: textApis[endpoint.kind].createBody(endpoint, model, prompt) };
  }
  const version = endpoint.version === '' ? '' : `/versions/${encodeURIComponent(endpoint.version)}`;
  const values = tritonValues(model, endpoint, prompt);
  return {
    path: `${splitBasePath(address).basePath}/v2/models/${encodeURIComponent(model)}${version}/generate_stream`,
    body: Object.fromEntries(values.map(({ name, value }) => [name, value])),
  };
}

const toOutcome = (reply: ResponseParser): SendOutcome =>
  badStatus(String(reply.statusCode), errorOfReply(reply.errorBody));

/**
 * Returns the message of a failed call: OpenAI has an object with a message, Triton a text, FastAPI
 * a `detail`; otherwise the body itself.
 */
export function errorOfReply(body: string): string {
  try {
    const { error, detail, message } = JSON.parse(body) as Record<string, unknown>;
    const said = error ?? message ?? detail;
    if (typeof said === 'string') return said;
    if (said !== undefined && said !== null) {
      const inner = (said as { readonly message?: unknown }).message;
      return typeof inner === 'string' ? inner : JSON.stringify(said);
    }
  } catch {
    // Not JSON: a proxy's page, or a truncated body.
  }
  return body.trim();
}
