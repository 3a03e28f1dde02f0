import { inflated } from '../wire/inflated.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

const PREFIX_BYTES = 5;
/** gRPC's own limit: its lengths are signed numbers. */
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

/**
 * Splits the bytes of a call into its messages, each preceded by a flag and four bytes of length.
 */
export class MessageCutter {
  readonly #encoding: string;
  readonly #take: (message: Buffer) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(encoding: string, take: (message: Buffer) => void) {
    this.#encoding = encoding;
    this.#take = take;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < PREFIX_BYTES || this.#bytes < this.#wanted()) return;
    // `#wanted` may have joined the chunks.
    let rest = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    while (rest.length >= PREFIX_BYTES && rest.length >= PREFIX_BYTES + rest.readUInt32BE(1)) {
      const end = PREFIX_BYTES + rest.readUInt32BE(1);
      const message = rest.subarray(PREFIX_BYTES, end);
      this.#take(rest[0] === 0 ? message : decompressed(message, this.#encoding));
      rest = rest.subarray(end);
    }
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
  }

  /** Returns the length of the first message. Assembles a prefix that spans several chunks. */
  #wanted(): number {
    if ((this.#chunks[0] as Buffer).length < PREFIX_BYTES) this.#chunks = [Buffer.concat(this.#chunks)];
    const length = (this.#chunks[0] as Buffer).readUInt32BE(1);
    if (length <= MAX_MESSAGE_BYTES) return PREFIX_BYTES + length;
    throw new ProtocolFailure(
      'RESOURCE_EXHAUSTED',
      `Received message larger than max (${length} vs. ${MAX_MESSAGE_BYTES})`,
    );
  }
}

function decompressed(message: Buffer, encoding: string): Buffer {
  if (encoding === 'gzip' || encoding === 'deflate') return inflated(message, encoding);
  throw new ProtocolFailure('UNIMPLEMENTED', `compression '${encoding}' is not supported`);
}

/** Returns an uncompressed message with its prefix. */
export function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}
