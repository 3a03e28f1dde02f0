const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
/** The field that holds the data of events, with its colon. */
const DATA = Buffer.from('data:', 'latin1');
const SPACE = 0x20;
/** A line that is longer than this is not an event of a language model. */
const MAX_LINE_BYTES = 2 ** 26;

/** Takes the data of one event: a range of bytes that is valid until it returns. */
export type OnData = (bytes: Buffer, start: number, end: number) => void;

/**
 * Splits a stream of server-sent events into the data of each (WHATWG HTML, section 9.2.6), however
 * its bytes are divided. Lines end with LF or CRLF. Skips names, ids and comments.
 */
export class EventLines {
  readonly #onData: OnData;
  /** The start of an incomplete line. */
  #kept = NOTHING;
  /**
   * Data lines of an event whose empty line has not arrived, joined by line feeds; null before the
   * first.
   */
  #pending: Buffer | null = null;

  constructor(onData: OnData) {
    this.#onData = onData;
  }

  /** Starts another stream. */
  reset(): void {
    this.#kept = NOTHING;
    this.#pending = null;
  }

  /** Throws RangeError for a line that does not end. */
  push(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      const index = bytes.indexOf(LF, at);
      if (index < 0 || index >= end) {
        this.#keep(bytes, at, end);
        return;
      }
      if (this.#kept.length > 0) {
        this.#keep(bytes, at, index + 1);
        const line = this.#kept;
        this.#kept = NOTHING;
        this.#line(line, 0, line.length - 1, false);
        at = index + 1;
      } else {
        // The empty line nearly always follows at once; nothing is copied then.
        const next = this.#pending === null ? afterEmptyLine(bytes, index + 1, end) : -1;
        this.#line(bytes, at, index, next >= 0);
        at = next >= 0 ? next : index + 1;
      }
    }
  }

  /**
   * Ends the stream. An event without its empty line counts too, because some servers leave it out.
   */
  finish(): void {
    if (this.#kept.length > 0) {
      const line = this.#kept;
      this.#kept = NOTHING;
      this.#line(line, 0, line.length, false);
    }
    this.#dispatch();
  }

  /** Takes a line without its LF; `endsEvent` if an empty line follows and nothing is pending. */
  #line(bytes: Buffer, start: number, lineEnd: number, endsEvent: boolean): void {
    const end = lineEnd > start && bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
    if (end === start) {
      this.#dispatch();
      return;
    }
    for (let index = 0; index < DATA.length; index++) if (bytes[start + index] !== DATA[index]) return;
    const colon = start + DATA.length;
    if (colon > end) return;
    const from = colon < end && bytes[colon] === SPACE ? colon + 1 : colon;
    if (endsEvent) this.#onData(bytes, from, end);
    else this.#pending = joined(this.#pending, bytes.subarray(from, end));
  }

  #dispatch(): void {
    const data = this.#pending;
    this.#pending = null;
    if (data !== null) this.#onData(data, 0, data.length);
  }

  /** Copies the bytes, because the buffer is reused for reading. */
  #keep(bytes: Buffer, start: number, end: number): void {
    if (this.#kept.length + end - start > MAX_LINE_BYTES)
      throw new RangeError('a line of the event stream does not end');
    this.#kept = Buffer.concat([this.#kept, bytes.subarray(start, end)]);
  }
}

function joined(before: Buffer | null, line: Buffer): Buffer {
  return before === null ? Buffer.from(line) : Buffer.concat([before, Buffer.of(LF), line]);
}

/** Returns the position after an empty line; -1 if there is none, or if its end has not arrived. */
function afterEmptyLine(bytes: Buffer, at: number, end: number): number {
  if (at >= end) return -1;
  if (bytes[at] === LF) return at + 1;
  return bytes[at] === CR && at + 1 < end && bytes[at + 1] === LF ? at + 2 : -1;
}
