import type { Socket } from 'node:net';
import type { FrameWriter } from './frame-writer.ts';
import { ProtocolError } from './frames.ts';

/** More than one reading of ours can ask for; a good peer waits for each before it asks again. */
const MAX_UNTAKEN = 4096;

/** Answers what a peer wants acknowledged, as long as it takes the answers: else they would fill the memory. */
export class Acknowledgements {
  readonly #socket: Socket;
  readonly #writer: FrameWriter;
  /** Sent since this many of our bytes had been written, which the peer has not all taken yet. */
  #untaken = 0;
  #untakenFrom = 0;

  constructor(socket: Socket, writer: FrameWriter) {
    this.#socket = socket;
    this.#writer = writer;
  }

  /** Errors: ProtocolError for a peer that asks on and on and takes nothing. */
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
