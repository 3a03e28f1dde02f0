import type { Sent } from '#http2/frame-writer.ts';
import type { FieldSink } from '#http2/hpack-decoder.ts';
import type { SendOutcome } from '../types.ts';
import { grpcStatusName } from './grpc-status.ts';
import { badStatus, failed, SENT } from './outcome.ts';
import type { RequestTimer } from './request-timer.ts';

/** Five bytes before a gRPC message: the compression flag and the length. */
export const PREFIX_BYTES = 5;

const NOTHING = Buffer.alloc(0);
const nobody = (): void => undefined;

/** The connection that a call is on. */
export interface Carrier {
  /** False if nothing new may be sent there. */
  readonly isUsable: boolean;
  /** Sends the body of a call that already has a stream. */
  resume(call: UnaryCall): void;
  /** Ends the call's stream from our side. */
  cancel(call: UnaryCall): void;
  /** Notifies `whom` when the kernel has taken everything that was sent so far. */
  tellWhenSent(whom: Sent): void;
}

/**
 * One unary call: the request to send, and the response so far. Objects are reused for other calls;
 * `begin` resets one completely.
 */
export class UnaryCall implements FieldSink {
  /** The framed message. */
  body: Buffer = NOTHING;
  done: (outcome: SendOutcome) => void = nobody;
  dueNs = 0;
  /** False for a call whose stream stays open for further messages. */
  readonly endsStream: boolean = true;
  carrier: Carrier | undefined;
  streamId = 0;
  /** Bytes of the body that the stream's own window allows now. */
  window = 0;
  sentBytes = 0;
  /** Bytes of DATA that arrived and have not been returned to the stream's window yet. */
  unreturned = 0;
  /** Undefined for a call that is not timed. */
  timer: RequestTimer | undefined;

  #httpStatus = 0;
  #grpcStatus = -1;
  #grpcMessage = '';
  /** True between the response's first header block and its trailers. */
  #started = false;
  #prefixBytes = 0;
  #messageBytes = 0;
  #messages = 0;
  #compressed = false;

  begin(body: Buffer, done: (outcome: SendOutcome) => void, dueNs: number, timer: RequestTimer | undefined): void {
    this.body = body;
    this.done = done;
    this.dueNs = dueNs;
    this.timer = timer;
  }

  /** Releases everything that the call held, so that an idle object keeps nothing alive. */
  end(): void {
    this.body = NOTHING;
    this.sentBytes = 0;
    this.dueNs = Number.POSITIVE_INFINITY;
    this.done = nobody;
    this.timer = undefined;
  }

  /** Called once the last byte of the body is in a frame. */
  allSent(): void {
    if (this.timer !== undefined) this.carrier?.tellWhenSent(this.timer);
  }

  /** Sends from the beginning on this stream. */
  onStream(streamId: number, window: number): void {
    this.streamId = streamId;
    this.window = window;
    this.sentBytes = 0;
    this.unreturned = 0;
    this.#httpStatus = 0;
    this.#grpcStatus = -1;
    this.#grpcMessage = '';
    this.#started = false;
    this.#prefixBytes = 0;
    this.#messageBytes = 0;
    this.#messages = 0;
    this.#compressed = false;
  }

  field(name: string, value: string): void {
    if (name === 'grpc-status') this.#grpcStatus = /^\d+$/.test(value) ? Number(value) : -1;
    else if (name === 'grpc-message') this.#grpcMessage = value;
    else if (name === ':status') this.#httpStatus = Number(value);
  }

  /** Ends a header block without END_STREAM. False if the block is not allowed there. */
  headersEnd(): boolean {
    if (this.#started) return false;
    // 1xx only announces another header block.
    this.#started = this.#httpStatus >= 200;
    return true;
  }

  /**
   * Counts messages; a load generator does not need their content. False if no data may arrive yet.
   */
  data(bytes: Buffer, start: number, end: number): boolean {
    if (!this.#started) return false;
    let at = start;
    while (at < end) {
      if (this.#prefixBytes === PREFIX_BYTES) {
        const taken = Math.min(this.#messageBytes, end - at);
        this.#messageBytes -= taken;
        at += taken;
        if (this.#messageBytes === 0) this.#prefixBytes = 0;
        continue;
      }
      const byte = bytes[at++] as number;
      if (this.#prefixBytes === 0) {
        this.#compressed ||= byte !== 0;
        this.#messageBytes = 0;
      } else {
        this.#messageBytes = this.#messageBytes * 256 + byte;
      }
      if (++this.#prefixBytes === PREFIX_BYTES) {
        this.#messages++;
        if (this.#messageBytes === 0) this.#prefixBytes = 0;
      }
    }
    return true;
  }

  /** True once the response's first headers have arrived. */
  get isStarted(): boolean {
    return this.#started;
  }

  /** True between two requests. */
  get isIdle(): boolean {
    return this.body === NOTHING;
  }

  get isSent(): boolean {
    return this.sentBytes === this.body.length;
  }

  /** Returns the outcome of the call once the peer has ended the stream. */
  outcome(): SendOutcome {
    if (this.#grpcStatus === 0) return this.#outcomeOfMessages();
    if (this.#grpcStatus > 0) return badStatus(grpcStatusName(this.#grpcStatus), percentDecoded(this.#grpcMessage));
    if (this.#httpStatus !== 200 && this.#httpStatus !== 0) {
      return badStatus(grpcNameOfHttp(this.#httpStatus), `Received HTTP status code ${this.#httpStatus}`);
    }
    return failed('malformed', 'the response ended without a gRPC status');
  }

  #outcomeOfMessages(): SendOutcome {
    if (this.#prefixBytes > 0) return failed('malformed', 'the response ended within its message');
    if (this.#messages !== 1) return failed('malformed', `the response has ${this.#messages} messages in place of one`);
    if (this.#compressed) return failed('malformed', 'the response is compressed though we did not ask for it');
    return SENT;
  }
}

/**
 * Decodes grpc-message: UTF-8 with %XX for everything but printable ASCII. Leaves wrong escapes as
 * they are.
 */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return Buffer.from(text, 'latin1').toString('utf8');
  const bytes = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Returns the gRPC status of a response without grpc-status, by its HTTP status
 * (`http-grpc-status-mapping.md` of the gRPC project).
 */
function grpcNameOfHttp(httpStatus: number): string {
  if (httpStatus === 400) return 'INTERNAL';
  if (httpStatus === 401) return 'UNAUTHENTICATED';
  if (httpStatus === 403) return 'PERMISSION_DENIED';
  if (httpStatus === 404) return 'UNIMPLEMENTED';
  return [429, 502, 503, 504].includes(httpStatus) ? 'UNAVAILABLE' : 'UNKNOWN';
}
