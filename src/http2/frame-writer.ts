import type { Socket } from 'node:net';
import { FRAME_HEADER_BYTES } from './frames.ts';

const BUFFER_BYTES = 64 * 1024;
/**
 * Payloads up to this size are copied into the buffer; it is cheaper to write longer ones directly.
 */
const MAX_COPY_BYTES = 8 * 1024;

/** The maximum number of released TLS buffers to keep for later turns. */
const MAX_SPARE = 8;

/** Callbacks for when the kernel has taken data. */
export interface Sent {
  sent(): void;
}

const NOTHING = Buffer.alloc(0);

/**
 * Calls back when the kernel has taken everything that was written to the socket; at once if it
 * already has. A callback of the write itself would cost several microseconds even then, and an
 * empty write calls back only in its own turn.
 */
export function afterWrite(socket: Socket, taken: () => void): void {
  if (socket.writableLength === 0) taken();
  else socket.write(NOTHING, taken);
}

/**
 * Collects the frames of one turn of the event loop and writes them together. The buffer is reused
 * once the kernel has taken it; while a slow peer or TLS still holds it, the next turn gets another
 * one.
 */
export class FrameWriter {
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  /** The part of the buffer that is not in a chunk yet: from `#from` to `#to`. */
  #from = 0;
  #to = 0;
  readonly #chunks: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  readonly #flushNow = (): void => {
    this.#scheduled = false;
    this.flush();
  };
  #scheduled = false;
  #held = false;
  /** Callbacks for when the kernel has taken the current content. */
  #waiting: Sent[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    const length = end - start;
    const copied = length <= MAX_COPY_BYTES;
    this.#reserve(FRAME_HEADER_BYTES + (copied ? length : 0));
    const buffer = this.#buffer;
    const at = this.#to;
    buffer[at] = length >>> 16;
    buffer[at + 1] = length >>> 8;
    buffer[at + 2] = length;
    buffer[at + 3] = type;
    buffer[at + 4] = flags;
    buffer[at + 5] = streamId >>> 24;
    buffer[at + 6] = streamId >>> 16;
    buffer[at + 7] = streamId >>> 8;
    buffer[at + 8] = streamId;
    this.#to = at + FRAME_HEADER_BYTES;
    if (copied) this.#copy(payload, start, end);
    else this.#refer(payload, start, end);
    this.#schedule();
  }

  /** Adds bytes that already form one or more frames. */
  bytes(frames: Buffer): void {
    this.#reserve(frames.length);
    this.#copy(frames, 0, frames.length);
    this.#schedule();
  }

  /**
   * Calls back, once or more often, when the kernel has taken everything written so far; perhaps
   * never if the connection is lost first.
   */
  tellWhenSent(whom: Sent): void {
    this.#waiting.push(whom);
  }

  /** Between `hold` and `release` only `flush` writes: the reader's turn ends with one write. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.flush();
  }

  flush(): void {
    if (this.#to > this.#from) {
      this.#chunks.push(this.#buffer.subarray(this.#from, this.#to));
      this.#from = this.#to;
    }
    if (this.#chunks.length === 0 || this.#socket.destroyed) return;
    const buffer = this.#buffer;
    let isTaken = false;
    // TLS always encrypts after the turn; a new buffer each time would keep the collector busy.
    const isReused = 'encrypted' in this.#socket;
    const written = isReused ? () => isTaken && this.#giveBack(buffer) : undefined;
    const last = this.#chunks.pop() as Buffer;
    if (this.#chunks.length === 0) {
      this.#socket.write(last, written);
    } else {
      this.#socket.cork();
      for (const chunk of this.#chunks) this.#socket.write(chunk);
      this.#socket.write(last, written);
      this.#socket.uncork();
    }
    this.#chunks.length = 0;
    if (this.#socket.writableLength > 0) {
      isTaken = true;
      this.#buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
    }
    if (this.#waiting.length > 0) this.#tell();
    this.#from = 0;
    this.#to = 0;
  }

  #tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    afterWrite(this.#socket, () => {
      for (const whom of waiting) whom.sent();
    });
  }

  #giveBack(buffer: Buffer): void {
    if (this.#spare.length < MAX_SPARE) this.#spare.push(buffer);
  }

  #reserve(bytes: number): void {
    if (this.#to + bytes <= this.#buffer.length) return;
    if (this.#to > this.#from) this.#chunks.push(this.#buffer.subarray(this.#from, this.#to));
    this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#from = 0;
    this.#to = 0;
  }

  #copy(payload: Buffer, start: number, end: number): void {
    payload.copy(this.#buffer, this.#to, start, end);
    this.#to += end - start;
  }

  #refer(payload: Buffer, start: number, end: number): void {
    this.#chunks.push(this.#buffer.subarray(this.#from, this.#to), payload.subarray(start, end));
    this.#from = this.#to;
  }

  #schedule(): void {
    if (this.#held || this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#flushNow);
  }
}
