import type { Outgoing } from '#http2/body-sender.ts';
import type { FieldSink } from '#http2/hpack-decoder.ts';
import { literal } from '#http2/hpack-encoding.ts';
import type { Breakage } from '../wire/broken-connection.ts';
import { ProtocolFailure, toGrpcStatus } from '../wire/protocol-failure.ts';
import { framed, MessageCutter } from './messages.ts';
import type { CallTaker, GrpcCall, GrpcMethods } from './methods.ts';

/** The connection that carries streams. */
export interface Line {
  /** Sends a header block. */
  answer(streamId: number, block: Buffer, endsStream: boolean): void;
  /** Sends as much of the stream's body as the client accepts, and the rest later. */
  body(stream: GrpcStream): void;
  /** Called when nothing more arrives or leaves on the stream. */
  over(stream: GrpcStream): void;
  break(stream: GrpcStream, how: Breakage): void;
}

const NOTHING: Buffer = Buffer.alloc(0);
/** `:status 200` is entry 8 of the static table. */
const STATUS_200 = 0x88;
const RESPONSE_FIELDS = [
  STATUS_200,
  ...literal('content-type', 'application/grpc'),
  ...literal('grpc-accept-encoding', 'identity,deflate,gzip'),
];
const RESPONSE_HEADERS = Buffer.from(RESPONSE_FIELDS);
const OK_TRAILERS = Buffer.from(literal('grpc-status', '0'));

/** One call: its request as it arrives, and its answer as the client accepts it. */
export class GrpcStream implements GrpcCall, FieldSink, Outgoing {
  readonly headers = new Map<string, string>();
  readonly streamId: number;
  readonly endsStream = false;
  body: Buffer = NOTHING;
  sentBytes = 0;
  window: number;
  /** Bytes of DATA that arrived and have not been returned to the stream's window yet. */
  unreturned = 0;
  readonly #line: Line;
  #taker: CallTaker | null = null;
  #cutter: MessageCutter | null = null;
  #hasAnswered = false;
  /** Trailers that follow the body. */
  #trailers: Buffer | null = null;
  #isOver = false;
  #hasRequest = false;

  constructor(streamId: number, window: number, line: Line) {
    this.streamId = streamId;
    this.window = window;
    this.#line = line;
  }

  field(name: string, value: string): void {
    this.headers.set(name, value);
  }

  /** Called when the request's headers have arrived. */
  begin(methods: GrpcMethods): void {
    const method = methods.get(this.headers.get(':path') ?? '');
    if (!method) {
      this.fail(new ProtocolFailure('UNIMPLEMENTED', ''));
      return;
    }
    const taker = method(this);
    this.#taker = taker;
    this.#cutter = new MessageCutter(this.headers.get('grpc-encoding') ?? 'identity', (bytes) => taker.message(bytes));
  }

  data(bytes: Buffer): void {
    if (this.#isOver || this.#hasRequest) return;
    try {
      this.#cutter?.push(bytes);
    } catch (error) {
      this.fail(error instanceof ProtocolFailure ? error : new ProtocolFailure('INTERNAL', 'Error parsing message'));
    }
  }

  /** Called when the client has sent everything. */
  requestEnd(): void {
    if (this.#hasRequest) return;
    this.#hasRequest = true;
    if (!this.#isOver) this.#taker?.done();
    this.#endIfDone();
  }

  /** Called when the client has cancelled the call. */
  cancelled(): void {
    this.#isOver = true;
    this.#line.over(this);
  }

  send(message: Uint8Array): void {
    if (this.#isOver) return;
    this.#answer();
    this.#append(framed(message));
  }

  end(): void {
    if (this.#isOver) return;
    this.#answer();
    this.#finish(OK_TRAILERS);
  }

  fail(failure: ProtocolFailure): void {
    if (this.#isOver) return;
    const status = [
      ...literal('grpc-status', String(toGrpcStatus(failure))),
      ...literal('grpc-message', percentEncoded(failure.message)),
    ];
    this.#finish(Buffer.from(this.#hasAnswered ? status : [...RESPONSE_FIELDS, ...status]));
  }

  break(how: Breakage): void {
    this.#isOver = true;
    this.#line.break(this, how);
  }

  allSent(): void {
    this.body = NOTHING;
    this.sentBytes = 0;
    if (this.#trailers === null) return;
    this.#line.answer(this.streamId, this.#trailers, true);
    this.#endIfDone();
  }

  #answer(): void {
    if (this.#hasAnswered) return;
    this.#hasAnswered = true;
    this.#line.answer(this.streamId, RESPONSE_HEADERS, false);
  }

  #append(bytes: Buffer): void {
    const isWaiting = this.sentBytes < this.body.length;
    this.body = isWaiting ? Buffer.concat([this.body.subarray(this.sentBytes), bytes]) : bytes;
    this.sentBytes = 0;
    this.#line.body(this);
  }

  #finish(trailers: Buffer): void {
    this.#isOver = true;
    this.#trailers = trailers;
    if (this.sentBytes === this.body.length) this.allSent();
  }

  /**
   * A call that was answered before its request was whole is kept until then, because it owns the
   * data that still arrives.
   */
  #endIfDone(): void {
    const isAnswered = this.#trailers !== null && this.body === NOTHING;
    if (this.#hasRequest && isAnswered) this.#line.over(this);
  }
}

/**
 * gRPC over HTTP/2, "Responses": printable ASCII except '%' stays, other bytes of UTF-8 become %XX.
 */
const percentEncoded = (text: string): string => text.replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent);
