import * as h2 from './frames.ts';

/** Takes a peer's data frame by frame. Buffers are only lent: they are reused after the call. */
export interface FrameSink {
  /** Takes a whole frame of any type except DATA. */
  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void;
  /** Takes a piece of a DATA frame without its padding. */
  data(streamId: number, bytes: Buffer, start: number, end: number): void;
  /** Ends a DATA frame; `length` counts for flow control. */
  dataEnd(streamId: number, flags: number, length: number): void;
}

/**
 * Splits a byte stream into frames. DATA is passed on as it arrives and never collected; other
 * frames are small and are kept until they are whole.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  /** Bytes of an incomplete frame, including its header. */
  #kept = Buffer.allocUnsafe(256);
  #keptBytes = 0;
  // The DATA frame being passed on; `#inData` from its header to its last byte.
  #inData = false;
  #flags = 0;
  #streamId = 0;
  #length = 0;
  #left = 0;
  /** Padding at the frame's end; -1 until its length is known. */
  #padding = 0;
  #stopped = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** After this, no frame reaches the sink, not even from the rest of the current chunk. */
  stop(): void {
    this.#stopped = true;
  }

  /** Errors: ProtocolError for an invalid frame. */
  push(chunk: Buffer, end: number): void {
    let at = 0;
    while (at < end && !this.#stopped) {
      if (this.#inData) at = this.#passData(chunk, at, end);
      else if (this.#keptBytes > 0) at = this.#gather(chunk, at, end);
      else at = this.#take(chunk, at, end);
    }
  }

  /** Takes a frame that begins at `at`; handles it in place if it is whole. */
  #take(chunk: Buffer, at: number, end: number): number {
    const body = at + h2.FRAME_HEADER_BYTES;
    if (body > end) return this.#keep(chunk, at, end);
    const length = lengthAt(chunk, at);
    const type = chunk[at + 3] as number;
    if (type === h2.DATA) {
      this.#beginData(chunk, at, length);
      return body;
    }
    if (body + length > end) return this.#keep(chunk, at, end);
    this.#sink.frame(type, chunk[at + 4] as number, streamIdAt(chunk, at), chunk, body, body + length);
    return body + length;
  }

  #gather(chunk: Buffer, at: number, end: number): number {
    if (this.#keptBytes < h2.FRAME_HEADER_BYTES) {
      const next = this.#keep(chunk, at, Math.min(end, at + h2.FRAME_HEADER_BYTES - this.#keptBytes));
      if (this.#keptBytes < h2.FRAME_HEADER_BYTES) return next;
      const length = lengthAt(this.#kept, 0);
      if (this.#kept[3] === h2.DATA) {
        this.#keptBytes = 0;
        this.#beginData(this.#kept, 0, length);
      } else if (length === 0) {
        this.#handOver();
      }
      return next;
    }
    const whole = h2.FRAME_HEADER_BYTES + lengthAt(this.#kept, 0);
    const next = this.#keep(chunk, at, Math.min(end, at + whole - this.#keptBytes));
    if (this.#keptBytes === whole) this.#handOver();
    return next;
  }

  #handOver(): void {
    const kept = this.#kept;
    const end = this.#keptBytes;
    this.#keptBytes = 0;
    this.#sink.frame(kept[3] as number, kept[4] as number, streamIdAt(kept, 0), kept, h2.FRAME_HEADER_BYTES, end);
  }

  #keep(chunk: Buffer, at: number, end: number): number {
    const bytes = this.#keptBytes + end - at;
    if (bytes > this.#kept.length) {
      const larger = Buffer.allocUnsafe(bytes * 2);
      this.#kept.copy(larger, 0, 0, this.#keptBytes);
      this.#kept = larger;
    }
    chunk.copy(this.#kept, this.#keptBytes, at, end);
    this.#keptBytes = bytes;
    return end;
  }

  #beginData(header: Buffer, at: number, length: number): void {
    this.#flags = header[at + 4] as number;
    this.#streamId = streamIdAt(header, at);
    this.#length = length;
    this.#left = length;
    this.#padding = (this.#flags & h2.PADDED) !== 0 ? -1 : 0;
    if (this.#padding === -1 && length === 0)
      throw new h2.ProtocolError('FRAME_SIZE_ERROR', 'padding without its length');
    this.#inData = length > 0;
    if (!this.#inData) this.#sink.dataEnd(this.#streamId, this.#flags, 0);
  }

  #passData(chunk: Buffer, from: number, end: number): number {
    let at = from;
    if (this.#padding === -1) {
      this.#padding = chunk[at++] as number;
      this.#left--;
      if (this.#padding > this.#left) throw new h2.ProtocolError('PROTOCOL_ERROR', 'more padding than frame');
    }
    const next = Math.min(end, at + this.#left);
    const dataEnd = Math.min(next, at + this.#left - this.#padding);
    this.#left -= next - at;
    if (this.#left === 0) this.#inData = false;
    if (dataEnd > at) this.#sink.data(this.#streamId, chunk, at, dataEnd);
    if (!this.#inData) this.#sink.dataEnd(this.#streamId, this.#flags, this.#length);
    return next;
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
  if (length > h2.OUR_MAX_FRAME) {
    throw new h2.ProtocolError('FRAME_SIZE_ERROR', `a frame of ${length} bytes is longer than we allow`);
  }
  return length;
}

function streamIdAt(bytes: Buffer, at: number): number {
  return (
    (((bytes[at + 5] as number) & 0x7f) << 24) |
    ((bytes[at + 6] as number) << 16) |
    ((bytes[at + 7] as number) << 8) |
    (bytes[at + 8] as number)
  );
}
