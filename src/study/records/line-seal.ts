import { createHash, createHmac, type Hash, hash } from 'node:crypto';

/**
 * The end of a journal's line: its check value, and the mark of the user who wrote it. The check
 * value is the digest of all bytes from the check value of the line before, or from the beginning
 * of the file; so a line that was changed, left out or moved is noticed at the next check value.
 * The mark authenticates the check value, and so all lines up to here.
 */
export interface Seal {
  readonly check: string;
  /** null if the writer had no key. */
  readonly mark: string | null;
  /** Where the end of the record's own text begins, within the line. */
  readonly start: number;
}

/** Hex digits of a check value and of a mark: 128 bits. */
const DIGITS = 32;
const BEFORE_CHECK = ',"check":"';
const BEFORE_MARK = '","mark":"';
const END = '"}';
const WITHOUT_MARK = BEFORE_CHECK.length + DIGITS + END.length;
const LONGEST = WITHOUT_MARK + BEFORE_MARK.length + DIGITS;
const seal = /,"check":"([0-9a-f]{32})(?:","mark":"([0-9a-f]{32}))?"\}$/;
const seals = new RegExp(seal.source.slice(0, -1), 'g');

/** Returns the seal of a line; null for one of tritune 0.2.0 or before, which has none. */
export function parseSeal(line: Buffer): Seal | null {
  const end = line.toString('latin1', Math.max(0, line.length - LONGEST));
  const match = seal.exec(end);
  if (!match) return null;
  const [text, check, mark = null] = match as unknown as [string, string, string | undefined];
  return { check, mark, start: line.length - text.length };
}

/** Returns where the check value of a sealed line begins, within the line. */
export const checkStart = ({ start }: Seal): number => start + BEFORE_CHECK.length;

/**
 * Returns the check value of a line. `bytes`: from the check value of the line before to that of
 * this one.
 */
export const computeCheck = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex').slice(0, DIGITS);

/** Returns the mark of the user with this key. */
export const formatMark = (check: string, key: Buffer): string =>
  createHmac('sha256', key).update(`tritune journal ${check}`).digest('hex').slice(0, DIGITS);

/**
 * True if text that follows the last whole line begins with a whole one: its line feed is gone.
 * `bytes`: from the check value before that text.
 */
export function holdsWholeLine(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  for (const match of text.matchAll(seals)) {
    const end = match.index + match[0].length;
    const isCut = /^\0*$/.test(text.slice(end));
    if (!isCut && computeCheck(bytes.subarray(0, match.index + BEFORE_CHECK.length)) === match[1]) return true;
  }
  return false;
}

/** Seals the lines of one journal, in order. */
export class LineSealer {
  readonly #key: Buffer | null;
  #sinceCheck: Hash;

  /** `sinceCheck`: what the journal has from its last check value on. */
  constructor(key: Buffer | null, sinceCheck: Uint8Array = new Uint8Array()) {
    this.#key = key;
    this.#sinceCheck = createHash('sha256').update(sinceCheck);
  }

  /** Returns the line of a record's JSON. */
  seal(json: string): string {
    const before = `${json.slice(0, -1)}${BEFORE_CHECK}`;
    const check = this.#sinceCheck.update(before).digest('hex').slice(0, DIGITS);
    const after = `${check}${this.#key ? `${BEFORE_MARK}${formatMark(check, this.#key)}` : ''}${END}\n`;
    this.#sinceCheck = createHash('sha256').update(after);
    return before + after;
  }
}
