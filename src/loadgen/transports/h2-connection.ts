import type { Socket } from 'node:net';
import { Acknowledgements } from '#http2/acknowledgements.ts';
import { ConnectionFrames, type FrameEvents } from '#http2/connection-frames.ts';
import { FrameReader, type FrameSink } from '#http2/frame-reader.ts';
import { FrameWriter, type Sent } from '#http2/frame-writer.ts';
import * as h2 from '#http2/frames.ts';
import type { HeaderBlocks } from '#http2/header-blocks.ts';
import { PeerSettings } from '#http2/peer-settings.ts';
import type { SendFailure, SendOutcome } from '../types.ts';
import type { Carrier, UnaryCall } from './h2-call.ts';
import { Streams, type StreamsOptions } from './h2-streams.ts';
import { failed, socketMessage } from './outcome.ts';
import { type Endpoint, openSocket } from './socket.ts';

/** Size of the reused read buffer: nothing of a response outlives the turn in which it arrived. */
const READ_BYTES = 64 * 1024;
/** The connection's window is returned in pieces of this size; it never runs low. */
const WINDOW_PIECE = 2 ** 24;

/** Callbacks of a connection. */
export interface ConnectionOwner {
  /**
   * Called when there may be room for another call: the peer has sent its settings, or a call has
   * ended.
   */
  roomy(connection: Connection): void;
  /** Called when the call is over; it may be reused at once. */
  settle(call: UnaryCall, outcome: SendOutcome): void;
  /** Called when the peer takes no more calls here and did not look at these. */
  turnedAway(connection: Connection, calls: readonly UnaryCall[]): void;
  /** Called when the connection is lost. Its calls are settled after this. */
  gone(connection: Connection, why: SendFailure): void;
}

export interface ConnectionOptions extends StreamsOptions {
  readonly endpoint: Endpoint;
}

/**
 * One HTTP/2 connection for unary calls (RFC 9113). It never throws: errors end calls or the
 * connection.
 */
export class Connection implements FrameSink, FrameEvents, Carrier {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  readonly #peer = new PeerSettings();
  readonly #frames: ConnectionFrames;
  readonly #streams: Streams;
  #state: 'connecting' | 'ready' | 'draining' | 'gone' = 'connecting';
  #wasReady = false;
  /** Bytes of DATA that arrived and have not been returned to the connection's window yet. */
  #unreturned = 0;
  /**
   * The time since which we wait for a sign of life: from the start, and from each PING. 0: not
   * waiting.
   */
  #waitingSinceNs: number;

  constructor(options: ConnectionOptions, owner: ConnectionOwner, nowNs: number) {
    this.#owner = owner;
    this.#waitingSinceNs = nowNs;
    this.#reader = new FrameReader(this);
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array) => this.#read(buffer as Buffer, bytes),
    };
    this.#socket = openSocket(options.endpoint, onread, () => this.#writer.bytes(h2.clientPreface()));
    this.#writer = new FrameWriter(this.#socket);
    this.#frames = new ConnectionFrames(new Acknowledgements(this.#socket, this.#writer), this.#peer, this);
    this.#streams = new Streams(options, this.#writer, this.#peer, (call, outcome) => this.#ended(call, outcome));
    this.#socket.on('error', (error) => this.#lose(socketMessage(error)));
    this.#socket.on('end', () => this.#lose('the server closed the connection'));
    this.#socket.on('close', () => this.#lose('the connection was closed'));
  }

  get isConnecting(): boolean {
    return this.#state === 'connecting';
  }

  /** True while it takes calls, or soon will. */
  get isUsable(): boolean {
    return this.#state === 'connecting' || this.#state === 'ready';
  }

  /** True if the peer ever spoke HTTP/2 here. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  get hasRoom(): boolean {
    return this.#state === 'ready' && this.#streams.size < this.#peer.maxConcurrentStreams;
  }

  get inFlight(): number {
    return this.#streams.size;
  }

  /** The number of calls that the peer has answered here. */
  get answered(): number {
    return this.#streams.answered;
  }

  /** Sends the call. Requires `hasRoom`. */
  start(call: UnaryCall): void {
    call.carrier = this;
    this.#streams.open(call);
    if (this.#streams.isExhausted) this.#drain([]);
  }

  resume(call: UnaryCall): void {
    this.#streams.resume(call);
  }

  tellWhenSent(whom: Sent): void {
    this.#writer.tellWhenSent(whom);
  }

  cancel(call: UnaryCall): void {
    this.#streams.cancel(call, failed('reset', 'the stream was given up'));
  }

  /**
   * Ends every call that is due, and the connection if the peer gives no sign of life for
   * `timeoutNs`.
   */
  expire(nowNs: number, timeoutNs: number, outcome: SendOutcome): void {
    const expired = this.#streams.expire(nowNs, outcome);
    if (this.#waitingSinceNs > 0 && nowNs - this.#waitingSinceNs >= timeoutNs) {
      this.close(failed('timeout', 'the server gives no sign of life on this connection'));
    } else if (expired && this.#waitingSinceNs === 0) {
      this.#waitingSinceNs = nowNs;
      this.#writer.bytes(h2.pingFrame());
    }
  }

  /** Ends the connection, and its calls with `why`. */
  close(why: SendFailure): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#reader.stop();
    this.#socket.destroy();
    const calls = this.#streams.removeAll();
    this.#owner.gone(this, why);
    for (const call of calls) this.#owner.settle(call, why);
  }

  #lose(message: string): void {
    if (this.#wasReady) this.close(failed('reset', message));
    else this.close(failed('refused', `no HTTP/2 connection: ${message}`));
  }

  #read(buffer: Buffer, bytes: number): boolean {
    if (this.#state === 'gone') return false;
    if (this.#wasReady) this.#waitingSinceNs = 0;
    this.#streams.heardNow();
    this.#writer.hold();
    try {
      if (!this.#wasReady && buffer.toString('latin1', 0, Math.min(bytes, 5)) === 'HTTP/') {
        throw h2.protocolError('the server answers in HTTP/1: is this its gRPC port?');
      }
      this.#reader.push(buffer, bytes);
    } catch (error) {
      if (!(error instanceof h2.ProtocolError)) throw error;
      this.#writer.bytes(h2.goAwayFrame(error.code));
      this.#writer.flush();
      this.close(failed('malformed', error.message));
    } finally {
      this.#writer.release();
    }
    return true;
  }

  data(streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#streams.data(streamId, bytes, start, end);
  }

  dataEnd(streamId: number, flags: number, length: number): void {
    this.#unreturned += length;
    if (this.#unreturned >= WINDOW_PIECE) {
      this.#writer.bytes(h2.windowUpdateFrame(this.#unreturned));
      this.#unreturned = 0;
    }
    this.#streams.dataEnd(streamId, flags, length);
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    if (!this.#wasReady && type !== h2.SETTINGS) throw h2.protocolError('SETTINGS must come first');
    this.#frames.frame(type, flags, streamId, payload, start, end);
  }

  headers(blocks: HeaderBlocks): void {
    this.#streams.headers(blocks);
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#streams.windowUpdate(streamId, bytes);
  }

  reset(streamId: number, code: number): void {
    this.#streams.reset(streamId, code);
  }

  goAway(lastStreamId: number): void {
    this.#drain(this.#streams.removeAfter(lastStreamId));
  }

  settingsChanged(from: { readonly initialWindow: number; readonly headerTableSize: number }): void {
    this.#streams.settingsChanged(from);
    if (this.#state === 'connecting') {
      this.#state = 'ready';
      this.#wasReady = true;
      this.#waitingSinceNs = 0;
    }
    this.#owner.roomy(this);
  }

  #ended(call: UnaryCall, outcome: SendOutcome): void {
    this.#owner.settle(call, outcome);
    if (this.#state === 'ready') this.#owner.roomy(this);
    else this.#closeIfDrained();
  }

  /**
   * Takes no more calls, and closes once those in flight have ended. `unseen` are calls that the
   * peer did not look at.
   */
  #drain(unseen: readonly UnaryCall[]): void {
    if (this.#state === 'gone') return;
    this.#state = 'draining';
    this.#owner.turnedAway(this, unseen);
    this.#closeIfDrained();
  }

  #closeIfDrained(): void {
    if (this.#state !== 'draining' || this.#streams.size > 0) return;
    this.#writer.flush();
    this.close(failed('reset', 'the server asked us to leave this connection'));
  }
}
