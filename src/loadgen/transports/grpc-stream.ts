import type { Compression, InferRequest, PreparedRequest, RequestParameter, SendOutcome, Transport } from '../types.ts';
import { STREAM_INFER_PATH } from './grpc-status.ts';
import type { UnaryCall } from './h2-call.ts';
import type { Connection } from './h2-connection.ts';
import { type CallOwner, Connections, type LeanOptions } from './h2-connections.ts';
import { StreamCall } from './h2-stream-call.ts';
import { encodeInferMessage, framed } from './infer-message.ts';
import { CLOSED } from './outcome.ts';
import { withTimes } from './request-timer.ts';
import type { StreamReplies } from './stream-reply.ts';

interface StreamRequest extends PreparedRequest {
  /** The message after its gRPC prefix. */
  readonly body: Buffer;
}

export interface StreamOptions extends LeanOptions {
  /**
   * Makes the receiver of a stream's replies, once per stream; if absent, replies are only counted.
   */
  readonly replies?: (() => StreamReplies) | undefined;
}

/** Asks the server to mark a request's last response, with an empty one if needed. */
const SAY_WHICH_IS_LAST: RequestParameter = { name: 'triton_enable_empty_final_response', type: 'bool', value: true };

/**
 * The maximum idle time of a stream: a server cannot unload a model while a stream that used it is
 * open (checked on Triton 2.51).
 */
const IDLE_MS = 1000;

/**
 * Inference over long-lived bidirectional gRPC streams, one per request in flight: for decoupled
 * models, whose requests have any number of responses. A request is over when its final response
 * has arrived.
 */
export function openGrpcStream(options: StreamOptions): Transport<StreamRequest> {
  return new GrpcStream(options);
}

class GrpcStream implements Transport<StreamRequest>, CallOwner {
  readonly #connections: Connections;
  readonly #compression: Compression | undefined;
  readonly #newReplies: (() => StreamReplies) | undefined;
  /** Open streams without a request, the most recently used last. */
  readonly #idle: StreamCall[] = [];
  #sent = 0;
  /** Runs while there are idle streams. */
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(options: StreamOptions) {
    this.#compression = options.compression;
    this.#newReplies = options.replies;
    this.#connections = new Connections(options, STREAM_INFER_PATH, this);
  }

  prepare(request: InferRequest): StreamRequest {
    const parameters = [...(request.parameters ?? []), SAY_WHICH_IS_LAST];
    return { request, body: framed(encodeInferMessage({ ...request, parameters }), this.#compression) };
  }

  send(prepared: StreamRequest, done: (outcome: SendOutcome) => void): void {
    if (!this.#connections.isOpen) {
      done(CLOSED);
      return;
    }
    this.#sent++;
    const idle = this.#takeIdle();
    const call = idle ?? this.#newCall();
    this.#connections.begin(call, prepared.body, done);
    if (idle) idle.carrier?.resume(idle);
    else this.#connections.start(call);
  }

  async close(): Promise<void> {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#connections.close(CLOSED);
  }

  #newCall(): StreamCall {
    return new StreamCall((replied, outcome) => this.#replied(replied, outcome), this.#newReplies?.());
  }

  #watchIdle(): void {
    if (this.#idleTimer) return;
    const sent = this.#sent;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = null;
      if (sent === this.#sent) for (const call of [...this.#idle]) call.carrier?.cancel(call);
      else if (this.#idle.length > 0) this.#watchIdle();
    }, IDLE_MS);
    this.#idleTimer.unref();
  }

  #takeIdle(): StreamCall | undefined {
    // A stream whose connection is just being lost will be told so soon.
    for (let call = this.#idle.pop(); call; call = this.#idle.pop()) if (call.carrier?.isUsable) return call;
    return undefined;
  }

  /** Handles the end of a stream, and of its request if it has one. */
  settle(call: UnaryCall, outcome: SendOutcome): void {
    const at = this.#idle.indexOf(call as StreamCall);
    if (at >= 0) this.#idle.splice(at, 1);
    const { done } = call;
    const sendOutcome = (call as StreamCall).ended(outcome);
    call.end();
    done(sendOutcome);
  }

  leaving(connection: Connection): void {
    for (const call of this.#idle.filter(({ carrier }) => carrier === connection)) connection.cancel(call);
  }

  /**
   * Handles the end of a request whose stream is still open. The stream is given up after a
   * failure, because more may arrive on it. It is also given up if the server answers unasked, or
   * before it has the whole request.
   */
  #replied(call: StreamCall, outcome: SendOutcome): void {
    const { done, carrier, isIdle, isSent, timer } = call;
    call.end();
    if (outcome.ok && isSent && !isIdle && carrier?.isUsable) {
      this.#idle.push(call);
      this.#watchIdle();
    } else carrier?.cancel(call);
    done(withTimes(outcome, timer));
  }
}
