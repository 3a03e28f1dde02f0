import { DEFAULT_TABLE_SIZE } from '#http2/frames.ts';
import { FIRST_DYNAMIC_INDEX, fieldSize, findStaticIndex } from '#http2/header-table.ts';
import { integer, literal } from '#http2/hpack-encoding.ts';

type Fields = readonly (readonly [name: string, value: string])[];

/**
 * The header blocks of one connection, all with the same fields. The first block puts the fields
 * that HPACK does not know into the peer's dynamic table; later blocks refer to them by index, one
 * byte each.
 */
export class RequestHeaders {
  readonly #fields: Fields;
  readonly #tableBytes: number;
  readonly #indexed: Buffer;
  #state: 'first' | 'indexed' | 'never' = 'first';
  /** Dynamic table size to announce before the next block. */
  #announce: number | undefined;

  constructor(fields: Fields) {
    this.#fields = fields;
    const dynamic = fields.filter(([name, value]) => findStaticIndex(name, value) === 0);
    this.#tableBytes = dynamic.reduce((sum, [name, value]) => sum + fieldSize(name, value), 0);
    if (this.#tableBytes > DEFAULT_TABLE_SIZE) this.#state = 'never';
    let newest = FIRST_DYNAMIC_INDEX + dynamic.length;
    this.#indexed = Buffer.from(fields.map(([name, value]) => 0x80 | (findStaticIndex(name, value) || --newest)));
  }

  /**
   * Sets the peer's SETTINGS_HEADER_TABLE_SIZE. A table below the default size must be acknowledged
   * in the next block.
   */
  peerTableSize(bytes: number): void {
    const size = Math.min(bytes, DEFAULT_TABLE_SIZE);
    if (size === DEFAULT_TABLE_SIZE && this.#announce === undefined) return;
    this.#announce = size;
    this.#state = this.#tableBytes > size ? 'never' : 'first';
  }

  /** Returns the block of the next request. */
  next(): Buffer {
    if (this.#state === 'indexed') return this.#indexed;
    const parts: number[] = [];
    if (this.#announce !== undefined) {
      parts.push(...integer(0x20, 5, this.#announce));
      this.#announce = undefined;
    }
    for (const [name, value] of this.#fields) {
      const known = findStaticIndex(name, value);
      if (known > 0) parts.push(0x80 | known);
      else parts.push(...literal(name, value, this.#state === 'first'));
    }
    if (this.#state === 'first') this.#state = 'indexed';
    return Buffer.from(parts);
  }
}
