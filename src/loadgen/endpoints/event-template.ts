import type { EventFormat, StreamEvent } from './stream-event.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
/** No model says this. */
const SENTINEL = '\u0001\u0002tritune\u0002\u0001';
const ESCAPED_SENTINEL = JSON.stringify(SENTINEL).slice(1, -1);

/**
 * An event as a text with one place for a string. The events of a reply differ in nothing but the model's next words, so that one which has
 * the same bytes around another non-empty string says the same as the first, and need not be parsed. Which place it is was proven: with a
 * text that no model says in it, the event was read again, and had that in its output.
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

  /** Returns the template of an event with output; null where the output is no single string under one of the format's keys. */
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

  /** True for an event that differs from the first in its string alone, which is a string of JSON and not empty. */
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

/** The bytes between the quotes of the string that is the value of the key which ends at `at`; null where its value is another. */
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

/** Whether a string in this place is told as output. */
function isOutput(before: Buffer, after: Buffer, format: EventFormat): boolean {
  try {
    const text = before.toString('utf8') + ESCAPED_SENTINEL + after.toString('utf8');
    return format.read(JSON.parse(text)).output.includes(SENTINEL);
  } catch {
    return false;
  }
}

/** Whether the bytes may stand between the quotes of a string of JSON (RFC 8259, section 7). Bytes of UTF-8 are not looked into. */
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
/** What may stand behind a backslash, but for the u. */
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
