import * as h2 from './frames.ts';
import { type FieldSink, HpackDecoder } from './hpack-decoder.ts';

/**
 * Cost of copying the block for each piece: many small or empty pieces cost far more than their
 * bytes.
 */
const CONTINUATION_COST = 64;

/** Assembles header blocks from HEADERS and CONTINUATION frames and decodes them. */
export class HeaderBlocks {
  readonly #decoder = new HpackDecoder();
  #block: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** Cost of the current block so far; limits a peer that sends an endless one. */
  #cost = 0;
  #isOpen = false;
  /** Stream of the current block. */
  streamId = 0;
  endsStream = false;

  /** True between a HEADERS frame and the end of its block, when no other frame is allowed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Takes a HEADERS frame. True if its block is whole; it must then be decoded at once. */
  open(flags: number, streamId: number, payload: Buffer, from: number, to: number): boolean {
    let start = from;
    let end = to;
    if ((flags & h2.PADDED) !== 0) end -= payload[start++] ?? 0;
    // Five bytes of priority, which are obsolete.
    if ((flags & h2.PRIORITY) !== 0) start += 5;
    if (start > end) throw new h2.ProtocolError('PROTOCOL_ERROR', 'a HEADERS frame with more padding than frame');
    this.#cost = 0;
    this.#charge(end - start);
    this.streamId = streamId;
    this.endsStream = (flags & h2.END_STREAM) !== 0;
    this.#isOpen = (flags & h2.END_HEADERS) === 0;
    this.#block = this.#isOpen ? Buffer.from(payload.subarray(start, end)) : payload;
    this.#start = this.#isOpen ? 0 : start;
    this.#end = this.#isOpen ? this.#block.length : end;
    return !this.#isOpen;
  }

  /** Takes a CONTINUATION frame. True if the block is whole. */
  extend(flags: number, streamId: number, payload: Buffer, start: number, end: number): boolean {
    if (!this.#isOpen || streamId !== this.streamId) {
      throw new h2.ProtocolError('PROTOCOL_ERROR', 'a CONTINUATION frame that continues nothing');
    }
    this.#charge(end - start + CONTINUATION_COST);
    this.#block = Buffer.concat([this.#block, payload.subarray(start, end)]);
    this.#end = this.#block.length;
    this.#isOpen = (flags & h2.END_HEADERS) === 0;
    return !this.#isOpen;
  }

  #charge(bytes: number): void {
    this.#cost += bytes;
    if (this.#cost <= h2.MAX_HEADER_BLOCK) return;
    throw new h2.ProtocolError('ENHANCE_YOUR_CALM', `a header block of more than ${h2.MAX_HEADER_BLOCK} bytes`);
  }

  /** Errors: ProtocolError. */
  decode(sink: FieldSink): void {
    this.#decoder.decode(this.#block, this.#start, this.#end, sink);
  }
}
