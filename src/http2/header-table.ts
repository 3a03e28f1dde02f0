import { DEFAULT_TABLE_SIZE, ProtocolError } from './frames.ts';

/** A header field in HPACK's tables. */
export interface Field {
  readonly name: string;
  readonly value: string;
}

/** Overhead of each entry in bytes (RFC 7541, section 4.1). */
const ENTRY_OVERHEAD = 32;

/** RFC 7541, appendix A: the name and, after a blank, the value. */
const staticFields: readonly Field[] = [
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status 204',
  ':status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate',
  'accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control',
  'content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type',
  'cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since',
  'last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after',
  'server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate',
]
  .join('|')
  .split('|')
  .map((text) => {
    const [name = '', ...words] = text.split(' ');
    return { name, value: words.join(' ') };
  });

/** The index of the first dynamic entry. */
export const FIRST_DYNAMIC_INDEX = staticFields.length + 1;

export const fieldSize = (name: string, value: string): number => name.length + value.length + ENTRY_OVERHEAD;

/** Returns the index of a static field; 0 if there is none. */
export const findStaticIndex = (name: string, value: string): number =>
  staticFields.findIndex((field) => field.name === name && field.value === value) + 1;

/**
 * The static table, followed by a dynamic table that drops its oldest entries. Index 1 is the first
 * entry.
 */
export class HeaderTable {
  /** Oldest first. */
  #dynamic: Field[] = [];
  #size = 0;
  #maxSize = DEFAULT_TABLE_SIZE;

  /** Errors: ProtocolError for an index that does not exist. */
  at(index: number): Field {
    const field =
      index < FIRST_DYNAMIC_INDEX
        ? staticFields[index - 1]
        : this.#dynamic[this.#dynamic.length - 1 - (index - FIRST_DYNAMIC_INDEX)];
    if (!field) throw new ProtocolError('COMPRESSION_ERROR', `there is no header field at index ${index}`);
    return field;
  }

  add(field: Field): void {
    this.#dynamic.push(field);
    this.#size += fieldSize(field.name, field.value);
    this.#evict();
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict();
  }

  #evict(): void {
    let gone = 0;
    while (this.#size > this.#maxSize) {
      const { name, value } = this.#dynamic[gone++] as Field;
      this.#size -= fieldSize(name, value);
    }
    if (gone > 0) this.#dynamic = this.#dynamic.slice(gone);
  }
}
