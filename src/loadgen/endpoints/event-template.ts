import type { EventFormat, StreamEvent } from './stream-event.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
/** No model produces this text. */
const SENTINEL = '\u0001\u0002tritune\u0002\u0001';
const ESCAPED_SENTINEL = JSON.stringify(SENTINEL).slice(1, -1);

/**
 * An event as a text with one placeholder for a string. The events of a reply differ only in the
 * model's next words. So an event with the same bytes around another non-empty string has the same
 * meaning as the first, and need not be parsed. The placeholder was proven: the event was read
 * again with a text that no model produces, and that text appeared in its output.
 */
export class EventTemplate {
  readonly event: StreamEvent;
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;

  private constructor(event: StreamEvent, before: Uint8Array, after: Uint8Array) {
    this.event = event;
    this.#before = before;
    this.#after = after;
  }

  /**
   * Returns the template of an event with output; null if the output is not a single string under
   * one of the format's keys.
   */
  static of(bytes: Buffer, event: StreamEvent, format: EventFormat): EventTemplate | null {
    for (const key of format.outputKeys) {
      const name = `"${key}"`;
      for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) {
        const place = stringAfter(bytes, at + name.length);
        if (place === null || place.start === place.end) continue;
        const [before, after] = [bytes.subarray(0, place.start), bytes.subarray(place.end)];
        if (isOutput(before, after, format))
          return new EventTemplate(event, Uint8Array.from(before), Uint8Array.from(after));
      }
    }
    return null;
  }

  /**
   * True for an event that differs from the first only in its string, which is a non-empty JSON
   * string.
   */
  matches(bytes: Buffer, start: number, end: number): boolean {
    const before = this.#before;
    const after = this.#after;
    const from = start + before.length;
    const to = end - after.length;
    if (from >= to) return false;
    for (let index = 0; index < after.length; index++) if (bytes[to + index] !== after[index]) return false;
    for (let index = before.length - 1; index >= 0; index--) if (bytes[start + index] !== before[index]) return false;
    return isStringBody(bytes, from, to);
  }
}

/**
 * Returns the bytes between the quotes of the string value of the key that ends at `at`; null if
 * its value is not a string.
 */
function stringAfter(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | null {
  const between = /^\s*:\s*"/.exec(bytes.toString('latin1', at, at + 16));
  if (!between) return null;
  const start = at + between[0].length;
  for (let end = start; end < bytes.length; end++) {
    if (bytes[end] === QUOTE) return { start, end };
    if (bytes[end] === BACKSLASH) end++;
  }
  return null;
}

/** True if a string in this place is read as output. */
function isOutput(before: Buffer, after: Buffer, format: EventFormat): boolean {
  try {
    const text = before.toString('utf8') + ESCAPED_SENTINEL + after.toString('utf8');
    return format.read(JSON.parse(text)).output.includes(SENTINEL);
  } catch {
    return false;
  }
}

/**
 * True if the bytes may stand between the quotes of a JSON string (RFC 8259, section 7). Does not
 * check bytes of UTF-8.
 */
export function isStringBody(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE || byte < FIRST_PRINTABLE) return false;
    if (byte !== BACKSLASH) continue;
    const escaped = ++at < end ? (bytes[at] as number) : 0;
    if (escaped === LETTER_U) {
      if (at + 4 >= end || !isHex(bytes, at + 1, at + 5)) return false;
      at += 4;
    } else if (!ESCAPES.has(escaped)) return false;
  }
  return true;
}

const LETTER_U = 0x75;
/** Characters that may follow a backslash, except u. */
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt', 'latin1'));

function isHex(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    const isDigit = byte >= 0x30 && byte <= 0x39;
    const letter = byte | 0x20;
    if (!isDigit && (letter < 0x61 || letter > 0x66)) return false;
  }
  return true;
}
