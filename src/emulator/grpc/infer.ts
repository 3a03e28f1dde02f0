import type { Servable } from '../models/servable.ts';
import type { ServerContext } from '../server-context.ts';
import { type InferOutcome, runInfer } from '../wire/infer.ts';
import type { InferCall } from '../wire/infer-call.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import { readInferRequest } from './infer-codec.ts';
import type { CallTaker, GrpcCall } from './methods.ts';
import { emptyFinalResponse, streamError, streamResponse, withRequestId, writeInferResponse } from './responses.ts';

export const NO_REQUEST = 'a call without its request';
const DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy";

/** ModelInfer: one request, one answer. */
export function inferMethod(context: ServerContext): (call: GrpcCall) => CallTaker {
  return (call) => {
    let hasRequest = false;
    const message = (bytes: Buffer): void => {
      hasRequest = true;
      const request = parsed(bytes, (failure) => call.fail(failure));
      if (!request) return;
      runInfer(context, request, {
        oneAnswerOnly: DECOUPLED,
        done: (outcome) => {
          if (outcome.kind === 'answered') {
            call.send(withRequestId(encodedAnswer(outcome.served, outcome.batch, request), request.id));
            call.end();
          } else if (outcome.kind === 'failed') call.fail(outcome.failure);
          else disturb(call, outcome);
        },
      });
    };
    const done = (): void => {
      if (!hasRequest) call.fail(new ProtocolFailure('INTERNAL', NO_REQUEST));
    };
    return { message, done };
  };
}

/**
 * ModelStreamInfer: any number of requests, each with any number of responses, in the order in
 * which they become ready.
 */
export function streamInferMethod(context: ServerContext): (call: GrpcCall) => CallTaker {
  return (call) => {
    // A client may ask for errors as the status of the whole stream, which ends with the first
    // error.
    const endsAtErrors = call.headers.get('triton_grpc_error') === 'true';
    let inFlight = 0;
    let isDone = false;
    const fail = (failure: ProtocolFailure, id: string): void => {
      if (endsAtErrors) call.fail(failure);
      else call.send(streamError(failure.message, id));
    };
    const ended = (): void => {
      inFlight--;
      if (isDone && inFlight === 0) call.end();
    };
    return {
      message: (bytes) => {
        const request = parsed(bytes, (failure) => call.fail(failure));
        if (!request) return;
        inFlight++;
        const respond = (served: Servable, batch: number, isFinal: boolean, text?: string): void => {
          const answer = text === undefined ? encodedAnswer(served, batch, request) : textAnswer(served, request, text);
          call.send(streamResponse(answer, request.id, isFinal));
        };
        runInfer(context, request, {
          oneAnswerOnly: null,
          respond: (served, batch, text) => respond(served, batch, false, text),
          done: (outcome) => {
            if (outcome.kind === 'answered') respond(outcome.served, outcome.batch, true);
            else if (outcome.kind === 'failed') fail(outcome.failure, request.id);
            else if (outcome.kind === 'disturbed') disturb(call, outcome);
            else if (request.wantsEmptyFinal) call.send(emptyFinalResponse(outcome.served.model, request.id));
            // A hanging request keeps its stream open.
            if (outcome.kind !== 'disturbed') ended();
          },
        });
      },
      done: () => {
        isDone = true;
        if (inFlight === 0) call.end();
      },
    };
  };
}

function parsed(bytes: Buffer, fail: (failure: ProtocolFailure) => void): InferCall | null {
  try {
    return readInferRequest(bytes);
  } catch (error) {
    fail(asProtocolFailure(error));
    return null;
  }
}

function disturb(call: GrpcCall, outcome: InferOutcome): void {
  if (outcome.kind === 'disturbed' && outcome.how !== 'hang') call.break(outcome.how);
}

const textAnswer = ({ signature, version }: Servable, { outputs, outputPlaces }: InferCall, text: string): Buffer =>
  writeInferResponse(signature, version, 1, outputs, outputPlaces, text);

function encodedAnswer(served: Servable, batch: number, { outputs, outputPlaces }: InferCall): Buffer {
  const key =
    outputs.length === 0
      ? `grpc ${batch}`
      : `grpc ${batch} ${outputs.join(' ')} | ${[...outputPlaces.keys()].join(' ')}`;
  let encoded = served.encoded.get(key);
  if (!encoded) {
    const body = writeInferResponse(served.signature, served.version, batch, outputs, outputPlaces);
    encoded = { body, headerLength: null };
    served.encoded.set(key, encoded);
  }
  return encoded.body;
}
