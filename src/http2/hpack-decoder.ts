import { DEFAULT_TABLE_SIZE, ProtocolError } from './frames.ts';
import { type Field, HeaderTable } from './header-table.ts';
import { huffmanDecode } from './huffman.ts';

/** Takes the fields of a header block, in order. */
export interface FieldSink {
  field(name: string, value: string): void;
}

/** Larger integers are meaningless in a header block within our limit. */
const MAX_INTEGER = 2 ** 28;

/**
 * Decodes the header blocks of one connection. It must get all of them in order, because each may
 * change the table.
 */
export class HpackDecoder {
  readonly #table = new HeaderTable();
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /** Errors: ProtocolError with COMPRESSION_ERROR; the connection cannot continue after that. */
  decode(block: Buffer, start: number, end: number, sink: FieldSink): void {
    this.#block = block;
    this.#at = start;
    this.#end = end;
    let mayResize = true;
    while (this.#at < end) {
      const first = block[this.#at] as number;
      if (first >= 0x80) {
        const { name, value } = this.#table.at(this.#integer(7));
        sink.field(name, value);
      } else if (first >= 0x40) {
        const field = this.#literal(6);
        this.#table.add(field);
        sink.field(field.name, field.value);
      } else if (first >= 0x20) {
        this.#resize(mayResize);
        continue;
      } else {
        const { name, value } = this.#literal(4);
        sink.field(name, value);
      }
      mayResize = false;
    }
  }

  #resize(allowed: boolean): void {
    const size = this.#integer(5);
    if (!allowed) throw bad('the header table changes its size within a header block');
    if (size > DEFAULT_TABLE_SIZE) throw bad(`a header table of ${size} bytes is larger than we allow`);
    this.#table.resize(size);
  }

  #literal(prefixBits: number): Field {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#table.at(index).name;
    return { name, value: this.#string() };
  }

  #string(): string {
    const huffman = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw bad('a header block ends within a string');
    this.#at = end;
    return huffman ? huffmanDecode(this.#block, start, end) : this.#block.toString('latin1', start, end);
  }

  /**
   * Reads an integer (RFC 7541, section 5.1): the low bits of the first byte, then seven bits per
   * byte.
   */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    let scale = 1;
    let byte: number;
    do {
      byte = this.#byte();
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (value > MAX_INTEGER || scale > 2 ** 42) throw bad('a header block contains an absurd integer');
    } while (byte >= 0x80);
    return value;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw bad('a header block ends too early');
    return this.#block[this.#at++] as number;
  }
}

function bad(message: string): ProtocolError {
  return new ProtocolError('COMPRESSION_ERROR', message);
}
