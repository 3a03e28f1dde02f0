import type { ServerResponse } from 'node:http';
import type { Json } from '#base/json.ts';
import type { Servable } from '../models/servable.ts';
import { sequenceIn } from '../scheduling/sequence-mark.ts';
import type { ServerContext } from '../server-context.ts';
import { breakConnection } from '../wire/broken-connection.ts';
import { type InferOutcome, runInfer } from '../wire/infer.ts';
import { chosenOutputs, type InferCall, type ModelSignature } from '../wire/infer-call.ts';
import { elementCount } from '../wire/tensors.ts';
import { toTextCall } from '../wire/text-call.ts';
import { zeroValues } from './infer-codec.ts';
import { sendFailure, sendJson } from './reply.ts';
import { parseBodyJson } from './request.ts';

interface GenerateRequest {
  readonly model: string;
  readonly version: string;
  readonly body: Buffer;
  /** Server-sent events, one per response, instead of a single JSON. */
  readonly isStream: boolean;
}

const NOT_ONE =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses';

/**
 * The generate extension: a flat JSON object with inputs or parameters as its request, and one with
 * outputs as its response. Throws errors that can be reported as a failure.
 */
export function generate(context: ServerContext, request: GenerateRequest, response: ServerResponse): void {
  const call = readGenerate(request, context.repository.serving(request.model, request.version).signature);
  const replies: Json[] = [];
  const respond = (served: Servable, batch: number, text?: string): void => {
    const reply = flatReply(served, batch, text);
    replies.push(reply);
    if (request.isStream) sendEvent(response, reply);
  };
  const done = (outcome: InferOutcome): void => {
    if (outcome.kind === 'disturbed') {
      if (outcome.how !== 'hang' && response.socket) breakConnection(response.socket, outcome.how);
    } else if (outcome.kind === 'failed') {
      // The status of a stream is that of its first event.
      if (response.headersSent) sendEvent(response, { error: outcome.failure.message }).end();
      else sendFailure(response, outcome.failure);
    } else {
      if (outcome.kind === 'answered') respond(outcome.served, outcome.batch);
      if (request.isStream) startEvents(response).end();
      else sendJson(response, 200, replies.length === 1 ? replies[0] : { error: NOT_ONE });
    }
  };
  runInfer(context, call, { oneAnswerOnly: null, respond, done });
}

function readGenerate({ model, version, body }: GenerateRequest, signature: ModelSignature): InferCall {
  const json = parseBodyJson(body);
  const parameters = Object.entries(json).filter(([name]) => !signature.inputs.some((input) => input.name === name));
  return {
    model,
    version,
    id: typeof json.id === 'string' ? json.id : '',
    inputs: signature.inputs
      .filter(({ name }) => Object.hasOwn(json, name))
      .map(({ name, datatype, shape }) => {
        const elements = Array.isArray(json[name])
          ? (json[name] as unknown[]).flat(Number.POSITIVE_INFINITY).length
          : 1;
        return { name, datatype, shape: shapeFor(elements, shape, signature.maxBatchSize > 0), size: { elements } };
      }),
    outputs: [],
    outputPlaces: new Map(),
    wantsEmptyFinal: false,
    sequence: sequenceIn(Object.fromEntries(parameters)),
    text: toTextCall(json),
  };
}

/** Returns the shape of one sample; the first open size takes all values that the others leave. */
function shapeFor(elements: number, shape: readonly number[], hasBatch: boolean): number[] {
  const fixed = elementCount(shape.filter((size) => size > 0));
  const open = shape.findIndex((size, index) => size < 0 && !(hasBatch && index === 0));
  return shape.map((size, index) => (size >= 0 ? size : index === open ? Math.floor(elements / fixed) : 1));
}

function flatReply({ signature, version }: Servable, batch: number, text?: string): Json {
  const outputs = chosenOutputs(signature, batch, []).map(({ name, datatype, shape }) => {
    if (text !== undefined && datatype === 'BYTES') return [name, text] as const;
    const values = zeroValues({ datatype, shape });
    return [name, values.length === 1 ? (values[0] as Json) : values] as const;
  });
  return { ...Object.fromEntries(outputs), model_name: signature.model, model_version: version };
}

function startEvents(response: ServerResponse): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  return response;
}

function sendEvent(response: ServerResponse, value: Json): ServerResponse {
  startEvents(response).write(`data: ${JSON.stringify(value)}\n\n`);
  return response;
}
