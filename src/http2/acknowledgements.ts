import type { Socket } from 'node:net';
import type { FrameWriter } from './frame-writer.ts';
import { ProtocolError } from './frames.ts';

/** More than a single read of ours can ask for; a good peer waits for each before it asks again. */
const MAX_UNTAKEN = 4096;

/**
 * Sends the acknowledgements that a peer asks for, as long as it reads them: otherwise they would
 * fill the memory.
 */
export class Acknowledgements {
  readonly #socket: Socket;
  readonly #writer: FrameWriter;
  /**
   * Acknowledgements sent since this many of our bytes were written, not all of which the peer has
   * read yet.
   */
  #untaken = 0;
  #untakenFrom = 0;

  constructor(socket: Socket, writer: FrameWriter) {
    this.#socket = socket;
    this.#writer = writer;
  }

  /** Errors: ProtocolError for a peer that keeps asking and never reads. */
  send(frame: Buffer): void {
    const { bytesWritten, writableLength } = this.#socket;
    if (bytesWritten - writableLength >= this.#untakenFrom) {
      this.#untakenFrom = bytesWritten;
      this.#untaken = 0;
    }
    if (++this.#untaken > MAX_UNTAKEN) {
      throw new ProtocolError('ENHANCE_YOUR_CALM', 'the peer takes none of the answers that it asks for');
    }
    this.#writer.bytes(frame);
  }
}
