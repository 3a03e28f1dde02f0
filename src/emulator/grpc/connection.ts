import type { Socket } from 'node:net';
import { Acknowledgements } from '#http2/acknowledgements.ts';
import { BodySender } from '#http2/body-sender.ts';
import { ConnectionFrames, type FrameEvents } from '#http2/connection-frames.ts';
import { FrameReader, type FrameSink } from '#http2/frame-reader.ts';
import { FrameWriter } from '#http2/frame-writer.ts';
import * as h2 from '#http2/frames.ts';
import type { HeaderBlocks } from '#http2/header-blocks.ts';
import { PeerSettings } from '#http2/peer-settings.ts';
import { type Breakage, breakConnection } from '../wire/broken-connection.ts';
import type { GrpcMethods } from './methods.ts';
import { GrpcStream, type Line } from './stream.ts';

/** A window is returned in pieces of this size. */
const WINDOW_PIECE = 2 ** 24;

/**
 * Sink for trailers of a request and headers of ended streams: nobody needs them, but the table of
 * names must see them.
 */
const NOWHERE = { field: (): void => undefined };

/**
 * A client's HTTP/2 connection (RFC 9113). If the client breaks the protocol, it gets a GOAWAY and
 * the connection ends.
 */
export class GrpcConnection implements FrameSink, FrameEvents, Line {
  readonly #socket: Socket;
  readonly #methods: GrpcMethods;
  readonly #writer: FrameWriter;
  readonly #reader = new FrameReader(this);
  readonly #peer = new PeerSettings();
  readonly #frames: ConnectionFrames;
  readonly #bodies: BodySender;
  readonly #streams = new Map<number, GrpcStream>();
  #lastId = 0;
  #magicBytes = 0;
  #unreturned = 0;
  #isDraining = false;

  constructor(socket: Socket, methods: GrpcMethods) {
    this.#socket = socket;
    this.#methods = methods;
    this.#writer = new FrameWriter(socket);
    this.#frames = new ConnectionFrames(new Acknowledgements(socket, this.#writer), this.#peer, this);
    this.#bodies = new BodySender(this.#writer, this.#peer);
    // A client that disconnects ends its calls.
    socket.on('error', () => this.cut());
    socket.on('close', () => this.#reader.stop());
    socket.on('data', (chunk) => this.#read(chunk as Buffer));
    this.#writer.bytes(h2.serverPreface());
  }

  /** Ends the connection at once. */
  cut(): void {
    this.#reader.stop();
    this.#socket.destroy();
  }

  get maxFrame(): number {
    return this.#peer.maxFrame;
  }

  answer(streamId: number, block: Buffer, endsStream: boolean): void {
    const ending = endsStream ? h2.END_STREAM : 0;
    for (let at = 0; at < block.length; at += this.maxFrame) {
      const end = Math.min(block.length, at + this.maxFrame);
      const flags = end === block.length ? h2.END_HEADERS : 0;
      this.#writer.frame(
        at === 0 ? h2.HEADERS : h2.CONTINUATION,
        at === 0 ? flags | ending : flags,
        streamId,
        block,
        at,
        end,
      );
    }
  }

  body(stream: GrpcStream): void {
    this.#bodies.send(stream);
  }

  over(stream: GrpcStream): void {
    this.#streams.delete(stream.streamId);
    this.#bodies.forget(stream);
    if (this.#isDraining && this.#streams.size === 0) this.#socket.destroySoon();
  }

  break(stream: GrpcStream, how: Breakage): void {
    if (how === 'reset-stream') {
      this.#writer.bytes(h2.rstStreamFrame(stream.streamId, 'INTERNAL_ERROR'));
      this.over(stream);
    } else if (how === 'go-away') {
      this.#writer.bytes(h2.rstStreamFrame(stream.streamId, 'REFUSED_STREAM'));
      this.#writer.bytes(h2.goAwayFrame('NO_ERROR', this.#lastId));
      this.#writer.flush();
      this.#isDraining = true;
      this.over(stream);
    } else breakConnection(this.#socket, how);
  }

  #read(chunk: Buffer): void {
    this.#writer.hold();
    try {
      const bytes = this.#withoutMagic(chunk);
      this.#reader.push(bytes, bytes.length);
    } catch (error) {
      if (!(error instanceof h2.ProtocolError)) throw error;
      this.#reader.stop();
      this.#writer.bytes(h2.goAwayFrame(error.code, this.#lastId));
      this.#writer.flush();
      this.#socket.destroySoon();
    } finally {
      this.#writer.release();
    }
  }

  #withoutMagic(chunk: Buffer): Buffer {
    const taken = Math.min(chunk.length, h2.CLIENT_MAGIC.length - this.#magicBytes);
    if (taken === 0) return chunk;
    const expected = h2.CLIENT_MAGIC.subarray(this.#magicBytes, this.#magicBytes + taken);
    if (!expected.equals(chunk.subarray(0, taken))) throw h2.protocolError('the client does not speak HTTP/2');
    this.#magicBytes += taken;
    return chunk.subarray(taken);
  }

  data(streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#findStream(streamId)?.data(bytes.subarray(start, end));
  }

  dataEnd(streamId: number, flags: number, length: number): void {
    this.#unreturned = this.#returned(this.#unreturned + length, 0);
    const stream = this.#findStream(streamId);
    if (!stream) return;
    if ((flags & h2.END_STREAM) !== 0) stream.requestEnd();
    else stream.unreturned = this.#returned(stream.unreturned + length, streamId);
  }

  #returned(bytes: number, streamId: number): number {
    if (bytes < WINDOW_PIECE) return bytes;
    this.#writer.bytes(h2.windowUpdateFrame(bytes, streamId));
    return 0;
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    this.#frames.frame(type, flags, streamId, payload, start, end);
  }

  headers(blocks: HeaderBlocks): void {
    const { streamId, endsStream } = blocks;
    const isNew = streamId > this.#lastId;
    if (streamId % 2 === 0) throw h2.protocolError(`a request on stream ${streamId}`);
    if (isNew) this.#lastId = streamId;
    if (!isNew || this.#isDraining) {
      blocks.decode(NOWHERE);
      if (endsStream) this.#streams.get(streamId)?.requestEnd();
      return;
    }
    const stream = new GrpcStream(streamId, this.#peer.initialWindow, this);
    blocks.decode(stream);
    this.#streams.set(streamId, stream);
    stream.begin(this.#methods);
    if (endsStream) stream.requestEnd();
  }

  reset(streamId: number): void {
    this.#findStream(streamId)?.cancelled();
  }

  /** The client closes the connection when it is done. */
  goAway(): void {}

  settingsChanged({ initialWindow }: { readonly initialWindow: number }): void {
    const growth = this.#peer.initialWindow - initialWindow;
    if (growth === 0) return;
    for (const stream of this.#streams.values()) this.#grow(stream, growth);
  }

  windowUpdate(streamId: number, bytes: number): void {
    const stream = streamId === 0 ? undefined : this.#findStream(streamId);
    if (streamId === 0) this.#bodies.growConnection(bytes);
    else if (stream) this.#grow(stream, bytes);
  }

  #grow(stream: GrpcStream, bytes: number): void {
    if (!this.#bodies.growStream(stream, bytes))
      throw new h2.ProtocolError('FLOW_CONTROL_ERROR', 'a window has become too large');
  }

  #findStream(streamId: number): GrpcStream | undefined {
    if (streamId === 0 || streamId > this.#lastId)
      throw h2.protocolError(`a frame of stream ${streamId}, which was never opened`);
    return this.#streams.get(streamId);
  }
}
