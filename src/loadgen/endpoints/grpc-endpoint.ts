import { numericType } from '../input-data/data-types.ts';
import { encodeTexts } from '../input-data/text-elements.ts';
import { openGrpcStream } from '../transports/grpc-stream.ts';
import type {
  InferRequest,
  PreparedRequest,
  RequestParameter,
  RequestTensor,
  SendOutcome,
  Transport,
} from '../types.ts';
import type { EndpointOptions, TextModelInput, TritonEndpoint } from './endpoint.ts';
import { withInputTokens } from './reply-timing.ts';
import { TextReplies } from './text-replies.ts';
import { type NamedValue, tritonValues } from './triton-request.ts';

interface GrpcTextRequest extends PreparedRequest {
  readonly streamed: PreparedRequest;
}

/** Text models of Triton over decoupled gRPC streams. Errors: USAGE for a bad address. */
export function openGrpcEndpoint(options: EndpointOptions, endpoint: TritonEndpoint): Transport<GrpcTextRequest> {
  const stream: Transport = openGrpcStream({
    url: options.address,
    timeoutMs: options.timeoutMs,
    headers: options.headers,
    tls: options.tls,
    gate: options.gate,
    timesRequests: true,
    replies: () => new TextReplies(endpoint.output),
  });
  return {
    prepare: (request) => ({ request, streamed: stream.prepare(textRequest(options, endpoint, request)) }),
    send({ request, streamed }, done: (outcome: SendOutcome) => void) {
      const inputTokens = request.prompt?.inputTokens;
      stream.send(streamed, (outcome) => done(withInputTokens(outcome, inputTokens)));
    },
    close: () => stream.close(),
  };
}

/**
 * Returns the request with tensors that replace its prompt. A request without a prompt is a bug of
 * ours.
 */
function textRequest(
  { model, extra = {} }: EndpointOptions,
  endpoint: TritonEndpoint,
  request: InferRequest,
): InferRequest {
  const { prompt, ...rest } = request;
  if (!prompt) throw new Error('a language endpoint is sent prompts');
  const namedValues = tritonValues(model, endpoint, prompt).filter(({ name }) => !Object.hasOwn(extra, name));
  const givenValues = Object.entries(extra).map(
    ([name, value]): NamedValue => ({
      name,
      value: typeof value === 'object' ? JSON.stringify(value) : (value as NamedValue['value']),
      input: endpoint.inputs.find((each) => each.name === name),
    }),
  );
  const values = [...namedValues, ...givenValues];
  return {
    ...rest,
    version: endpoint.version,
    inputs: values.flatMap(({ value, input }) => (input ? [toTensor(input, value)] : [])),
    parameters: values.flatMap(({ name, value, input }) => (input ? [] : [toParameter(name, value)])),
  };
}

function toParameter(name: string, value: NamedValue['value']): RequestParameter {
  if (typeof value === 'boolean') return { name, type: 'bool', value };
  if (typeof value === 'string') return { name, type: 'string', value };
  return Number.isSafeInteger(value) ? { name, type: 'int', value } : { name, type: 'double', value };
}

/** One element, whatever the number of dimensions. */
function toTensor({ name, datatype, shape }: TextModelInput, value: NamedValue['value']): RequestTensor {
  return { name, datatype, shape: shape.map(() => 1), raw: toRaw(datatype, value) };
}

function toRaw(datatype: string, value: NamedValue['value']): Uint8Array {
  const type = numericType(datatype);
  if (!type) return encodeTexts([String(value)]);
  const raw = new Uint8Array(type.bytes);
  type.write(new DataView(raw.buffer), 0, Number(value));
  return raw;
}
