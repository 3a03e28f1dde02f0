import { realClock } from '#base/clock.ts';
import { BodySender } from '#http2/body-sender.ts';
import type { FrameWriter } from '#http2/frame-writer.ts';
import * as h2 from '#http2/frames.ts';
import type { HeaderBlocks } from '#http2/header-blocks.ts';
import type { PeerSettings } from '#http2/peer-settings.ts';
import type { SendOutcome } from '../types.ts';
import type { UnaryCall } from './h2-call.ts';
import { RequestHeaders } from './h2-request-headers.ts';
import { failed } from './outcome.ts';

export interface StreamsOptions {
  /** Headers of every request, pseudo-headers first. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Odd. */
  readonly firstStreamId: number;
}

/** A stream's window is returned in pieces of this size. */
const WINDOW_PIECE = 2 ** 24;

const NOWHERE = { field: (): void => undefined };

/**
 * The streams of one connection, each with a call. Frames that break HTTP/2 throw ProtocolError.
 */
export class Streams {
  readonly #writer: FrameWriter;
  readonly #peer: PeerSettings;
  readonly #ended: (call: UnaryCall, outcome: SendOutcome) => void;
  readonly #bodies: BodySender;
  readonly #requestHeaders: RequestHeaders;
  readonly #calls = new Map<number, UnaryCall>();
  #nextId: number;
  #answered = 0;
  /** The arrival time of the current bytes. */
  #heardNs = 0;

  /**
   * `ended` gets each call once when it is over, except those that `removeAll` or `removeAfter`
   * took back.
   */
  constructor(
    options: StreamsOptions,
    writer: FrameWriter,
    peer: PeerSettings,
    ended: (call: UnaryCall, outcome: SendOutcome) => void,
  ) {
    this.#requestHeaders = new RequestHeaders(options.headers);
    this.#nextId = options.firstStreamId;
    this.#writer = writer;
    this.#peer = peer;
    this.#ended = ended;
    this.#bodies = new BodySender(writer, peer);
  }

  /** Open streams. */
  get size(): number {
    return this.#calls.size;
  }

  /** The number of streams that the peer ended with any kind of answer. */
  get answered(): number {
    return this.#answered;
  }

  /** True if no stream id is left: ids are never reused. */
  get isExhausted(): boolean {
    return this.#nextId > h2.MAX_STREAM_ID;
  }

  open(call: UnaryCall): void {
    const id = this.#nextId;
    this.#nextId += 2;
    call.onStream(id, this.#peer.initialWindow);
    this.#calls.set(id, call);
    const startNs = call.timer ? realClock.nowNs() : 0;
    const block = this.#requestHeaders.next();
    this.#writer.frame(h2.HEADERS, h2.END_HEADERS, id, block, 0, block.length);
    this.#bodies.send(call);
    call.timer?.marshalled(realClock.nowNs() - startNs);
  }

  /** Sends the next part of a call on an open stream. */
  resume(call: UnaryCall): void {
    const startNs = call.timer ? realClock.nowNs() : 0;
    this.#bodies.send(call);
    call.timer?.marshalled(realClock.nowNs() - startNs);
  }

  /** Records the arrival of bytes; the frames in them follow. */
  heardNow(): void {
    this.#heardNs = realClock.nowNs();
  }

  cancel(call: UnaryCall, outcome: SendOutcome): void {
    if (this.#calls.get(call.streamId) === call) this.#cancel(call.streamId, call, 'CANCEL', outcome);
  }

  /** Ends every call that is due. True if there was one. */
  expire(nowNs: number, outcome: SendOutcome): boolean {
    let expired = false;
    for (const [id, call] of this.#calls) {
      if (call.dueNs > nowNs) continue;
      expired = true;
      this.#cancel(id, call, 'CANCEL', outcome);
    }
    return expired;
  }

  removeAll(): UnaryCall[] {
    return this.removeAfter(0);
  }

  /** Takes back the calls on streams after this one, oldest first. */
  removeAfter(lastId: number): UnaryCall[] {
    const after = [...this.#calls].filter(([id]) => id > lastId);
    for (const [id, call] of after) {
      this.#calls.delete(id);
      this.#bodies.forget(call);
    }
    return after.map(([, call]) => call);
  }

  headers(blocks: HeaderBlocks): void {
    const { streamId, endsStream } = blocks;
    const call = this.#callOn(streamId);
    blocks.decode(call ?? NOWHERE);
    if (!call) return;
    call.timer?.heard(this.#heardNs);
    if (endsStream) this.#finish(streamId, call);
    else if (!call.headersEnd()) this.#malformed(streamId, call, 'a header block in the middle of the response');
  }

  data(streamId: number, bytes: Buffer, start: number, end: number): void {
    const call = this.#callOn(streamId);
    call?.timer?.heard(this.#heardNs);
    if (call && !call.data(bytes, start, end)) this.#malformed(streamId, call, 'data before headers');
  }

  dataEnd(streamId: number, flags: number, length: number): void {
    const call = this.#callOn(streamId);
    if (call && !call.endsStream) this.#returnWindow(call, length);
    if (call && (flags & h2.END_STREAM) !== 0) this.#finish(streamId, call);
  }

  /**
   * A unary call's reply fits into the initial window of its stream; the replies on a long stream
   * do not.
   */
  #returnWindow(call: UnaryCall, bytes: number): void {
    call.unreturned += bytes;
    if (call.unreturned < WINDOW_PIECE) return;
    this.#writer.bytes(h2.windowUpdateFrame(call.unreturned, call.streamId));
    call.unreturned = 0;
  }

  reset(streamId: number, code: number): void {
    const call = this.#callOn(streamId);
    if (call) this.#end(streamId, call, failed('reset', `the server reset the stream: ${h2.errorName(code)}`));
  }

  windowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      this.#bodies.growConnection(bytes);
      return;
    }
    const call = this.#callOn(streamId);
    if (call && (bytes === 0 || !this.#bodies.growStream(call, bytes))) throw windowError();
  }

  /** Handles a change of the peer's settings from these. */
  settingsChanged(from: { readonly initialWindow: number; readonly headerTableSize: number }): void {
    if (this.#peer.headerTableSize !== from.headerTableSize) {
      this.#requestHeaders.peerTableSize(this.#peer.headerTableSize);
    }
    const growth = this.#peer.initialWindow - from.initialWindow;
    if (growth === 0) return;
    for (const call of this.#calls.values()) {
      if (!this.#bodies.growStream(call, growth)) throw windowError();
    }
  }

  /** Returns the call in flight on this stream if it has not ended yet. */
  #callOn(streamId: number): UnaryCall | undefined {
    const call = this.#calls.get(streamId);
    if (!call && (streamId === 0 || streamId % 2 === 0 || streamId >= this.#nextId)) {
      throw new h2.ProtocolError('PROTOCOL_ERROR', `a frame of stream ${streamId}, which was never opened`);
    }
    return call;
  }

  /** Handles the peer's end of the stream. */
  #finish(id: number, call: UnaryCall): void {
    this.#answered++;
    if (call.isSent) this.#end(id, call, call.outcome());
    else this.#cancel(id, call, 'NO_ERROR', call.outcome());
  }

  #malformed(id: number, call: UnaryCall, message: string): void {
    this.#cancel(id, call, 'PROTOCOL_ERROR', failed('malformed', message));
  }

  #cancel(id: number, call: UnaryCall, code: h2.ErrorName, outcome: SendOutcome): void {
    this.#writer.bytes(h2.rstStreamFrame(id, code));
    this.#end(id, call, outcome);
  }

  #end(id: number, call: UnaryCall, outcome: SendOutcome): void {
    this.#calls.delete(id);
    this.#bodies.forget(call);
    call.streamId = 0;
    this.#ended(call, outcome);
  }
}

function windowError(): h2.ProtocolError {
  return new h2.ProtocolError('FLOW_CONTROL_ERROR', 'a window changes by an amount that it cannot change by');
}
