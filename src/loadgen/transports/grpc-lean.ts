import type { Compression, InferRequest, PreparedRequest, SendOutcome, Transport } from '../types.ts';
import { INFER_PATH } from './grpc-status.ts';
import { UnaryCall } from './h2-call.ts';
import { type CallOwner, Connections, type LeanOptions } from './h2-connections.ts';
import { encodeInferMessage, framed } from './infer-message.ts';
import { CLOSED } from './outcome.ts';

interface LeanRequest extends PreparedRequest {
  /** The message after its gRPC prefix. */
  readonly body: Buffer;
}

/**
 * gRPC unary over HTTP/2 on our own client, which takes a tenth of the CPU time of a general one.
 */
export function openGrpcLean(options: LeanOptions): Transport<LeanRequest> {
  return new GrpcLean(options);
}

class GrpcLean implements Transport<LeanRequest>, CallOwner {
  readonly #connections: Connections;
  readonly #compression: Compression | undefined;
  readonly #spare: UnaryCall[] = [];

  constructor(options: LeanOptions) {
    this.#compression = options.compression;
    this.#connections = new Connections(options, INFER_PATH, this);
  }

  prepare(request: InferRequest): LeanRequest {
    return { request, body: framed(encodeInferMessage(request), this.#compression) };
  }

  send(prepared: LeanRequest, done: (outcome: SendOutcome) => void): void {
    if (!this.#connections.isOpen) {
      done(CLOSED);
      return;
    }
    const call = this.#spare.pop() ?? new UnaryCall();
    this.#connections.begin(call, prepared.body, done);
    this.#connections.start(call);
  }

  async close(): Promise<void> {
    this.#connections.close(CLOSED);
  }

  settle(call: UnaryCall, outcome: SendOutcome): void {
    const { done } = call;
    call.end();
    this.#spare.push(call);
    done(outcome);
  }

  leaving(): void {
    // Its remaining calls end on their own.
  }
}
