/** Explains why a text is not a JSON array of objects. */
export class ArrayFault extends Error {}

const [SPACE, TAB, LF, CR] = [0x20, 0x09, 0x0a, 0x0d];
const [OPEN, CLOSE, COMMA, QUOTE, BACKSLASH] = [0x5b, 0x5d, 0x2c, 0x22, 0x5c];
const [BRACE, END_BRACE] = [0x7b, 0x7d];

type Place = 'before' | 'first' | 'item' | 'after-item' | 'after-comma' | 'after';

/**
 * Splits a JSON array of objects into the texts of the objects as its bytes arrive, so that it
 * holds at most one object. The reader of the objects must check that they are JSON. All relevant
 * bytes are ASCII, and no other UTF-8 character contains them.
 */
export class JsonArrayItems {
  readonly #maxItemBytes: number;
  #place: Place = 'before';
  #depth = 0;
  #inString = false;
  #escaped = false;
  #parts: Uint8Array[] = [];
  #heldBytes = 0;

  constructor(maxItemBytes: number) {
    this.#maxItemBytes = maxItemBytes;
  }

  /** False until the closing bracket of the array has arrived. */
  get isWhole(): boolean {
    return this.#place === 'after';
  }

  /** True until the opening bracket of the array has arrived. */
  get isUnbegun(): boolean {
    return this.#place === 'before';
  }

  /** Returns the objects that end in this chunk. Throws an ArrayFault. */
  *add(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#place === 'item') {
        if (!this.#endsItem(byte)) continue;
        yield this.#take(chunk.subarray(start, at + 1));
        this.#place = 'after-item';
      } else if (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB) {
        this.#step(byte);
        start = at;
      }
    }
    if (this.#place === 'item') this.#hold(chunk.slice(start));
  }

  /** True if this byte is the brace that ends the object. */
  #endsItem(byte: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === BRACE || byte === OPEN) this.#depth++;
    else if (byte === END_BRACE || byte === CLOSE) return --this.#depth === 0;
    return false;
  }

  /** Handles one byte between objects. */
  #step(byte: number): void {
    const place = this.#place;
    if (place === 'before' && byte === OPEN) this.#place = 'first';
    else if ((place === 'first' || place === 'after-comma') && byte === BRACE) {
      this.#place = 'item';
      this.#depth = 1;
    } else if (place === 'after-item' && byte === COMMA) this.#place = 'after-comma';
    else if ((place === 'first' || place === 'after-item') && byte === CLOSE) this.#place = 'after';
    else throw new ArrayFault(`${expected[place]}, not ${JSON.stringify(String.fromCharCode(byte))}`);
  }

  #take(last: Uint8Array): string {
    this.#hold(last);
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#heldBytes = 0;
    return text;
  }

  #hold(part: Uint8Array): void {
    this.#parts.push(part);
    this.#heldBytes += part.length;
    if (this.#heldBytes > this.#maxItemBytes)
      throw new ArrayFault(`one of its objects has over ${this.#maxItemBytes} bytes`);
  }
}

const expected: Readonly<Record<Exclude<Place, 'item'>, string>> & Partial<Record<Place, string>> = {
  before: 'it should begin with [',
  first: 'an object should follow [',
  'after-item': ', or ] should follow an object',
  'after-comma': 'an object should follow a comma',
  after: 'nothing should follow ]',
};
