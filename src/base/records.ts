import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { formatMessage, TrituneError } from './errors.ts';
import { fileLimits, readPieces } from './read-file.ts';

/** A record of a file: a line, or an element of a JSON array. */
export interface FileRecord {
  readonly text: string;
  /** The number of its first line, from 1. */
  readonly line: number;
}

/** A fault of a record, described for a person. */
export class BadRecord extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Far above a prompt of millions of tokens, or a line of any log. */
const MAX_RECORD_BYTES = 64 * 2 ** 20;
const CHUNK_BYTES = 2 ** 20;

const [NEWLINE, QUOTE, BACKSLASH, COMMA] = [0x0a, 0x22, 0x5c, 0x2c];
const [OPEN_LIST, OPEN_MAP, CLOSE_LIST, CLOSE_MAP] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Returns a reader's fault: the line, what is wrong, and what to do. */
export const invalidAt = (path: string, line: number, what: string, hint: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `${path}, line ${line}: ${what}`, hint);

/**
 * Reads the records of a file of any length one after the other: the elements of a JSON array, or
 * of the array in `{"data": […]}`, or the non-empty lines of any other file. Also reads files
 * compressed by gzip. Errors: INPUT_INVALID.
 */
export async function* readFileRecords(path: string): AsyncGenerator<FileRecord, void, void> {
  for await (const records of readRecordBatches(path)) yield* records;
}

/** The start of a JSON object with its records in the array `data`. */
const DATA_LIST = /^(?:\ufeff)?\s*\{\s*"data"\s*:\s*(?=\[)/;
/** The first bytes of a file, in which `DATA_LIST` is looked for. */
const START_BYTES = 1024;

/** The same, in batches of the records in one piece of the file: for millions of short ones. */
export async function* readRecordBatches(path: string): AsyncGenerator<readonly FileRecord[], void, void> {
  let cutter: Cutter | null = null;
  try {
    for await (const bytes of readBytes(path)) {
      cutter ??= chooseCutter(path, bytes);
      yield [...cutter.cut(bytes)];
    }
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read '${path}': ${formatMessage(error)}`,
      'give the path of a file',
    );
  }
  if (cutter) yield [...cutter.end()];
}

/** The bytes of a file, decompressed if its name ends in `.gz`. */
function readBytes(path: string): AsyncIterable<Buffer> {
  const pieces = readPieces(path, fileLimits.log);
  if (!path.endsWith('.gz')) return pieces;
  const file = Readable.from(pieces);
  const inflated = createGunzip({ chunkSize: CHUNK_BYTES });
  file.on('error', (error) => inflated.destroy(error));
  return file.pipe(inflated);
}

/** Returns the first byte that is neither white space nor part of a byte order mark. */
const firstSign = (bytes: Buffer): number | undefined => bytes.find((byte) => byte > 0x20 && byte < 0x80);

/** Returns the cutter for a file that begins with these bytes. */
function chooseCutter(path: string, bytes: Buffer): Cutter {
  const before = DATA_LIST.exec(bytes.toString('utf8', 0, START_BYTES))?.[0];
  if (before !== undefined) return new ElementCutter(path, before);
  return firstSign(bytes) === OPEN_LIST ? new ElementCutter(path) : new LineCutter(path);
}

/** Cuts a stream of bytes into records. */
abstract class Cutter {
  protected readonly path: string;
  protected line = 1;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(path: string) {
    this.path = path;
  }

  abstract cut(bytes: Buffer): Generator<FileRecord>;
  /** Returns the rest at the end of the file. */
  abstract end(): Iterable<FileRecord>;

  protected keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_RECORD_BYTES) {
      throw invalidAt(this.path, this.line, 'it is longer than 64 MiB', 'write one record on each line');
    }
    this.#parts.push(part);
  }

  /** Returns the kept bytes as text, and forgets them. */
  protected take(): string {
    const text = Buffer.concat(this.#parts.splice(0)).toString('utf8');
    this.#bytes = 0;
    return text;
  }
}

class LineCutter extends Cutter {
  *cut(bytes: Buffer): Generator<FileRecord> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.keep(bytes.subarray(start, end));
      yield* this.end();
      this.line++;
      start = end + 1;
    }
    this.keep(bytes.subarray(start));
  }

  *end(): Generator<FileRecord> {
    const text = this.take()
      .replace(/^\ufeff/, '')
      .trim();
    if (text !== '') yield { text, line: this.line };
  }
}

/**
 * Recognises in JSON only the limits of strings, maps and lists; the reader of an element parses
 * its content.
 */
class ElementCutter extends Cutter {
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isClosed = false;
  #line: number;
  /** Bytes before the list. */
  #skipped: number;

  /** `before`: the start of the file, before the list. */
  constructor(path: string, before = '') {
    super(path);
    this.line = 1 + (before.match(/\n/g)?.length ?? 0);
    this.#line = this.line;
    this.#skipped = Buffer.byteLength(before);
  }

  *cut(bytes: Buffer): Generator<FileRecord> {
    let start = this.#skipped;
    this.#skipped = 0;
    for (let at = start; at < bytes.length && !this.#isClosed; at++) {
      const byte = bytes[at] as number;
      if (byte === NEWLINE) this.#line++;
      if (this.#isInText) this.#readText(byte);
      else if (byte === QUOTE) this.#isInText = true;
      else if (byte === OPEN_LIST || byte === OPEN_MAP) {
        this.#depth++;
        if (this.#depth === 1) start = at + 1;
      } else if (byte === CLOSE_LIST || byte === CLOSE_MAP || byte === COMMA) {
        if (byte !== COMMA) this.#depth--;
        const isOver = byte === COMMA ? this.#depth === 1 : byte === CLOSE_LIST && this.#depth === 0;
        if (!isOver) continue;
        this.keep(bytes.subarray(start, at));
        yield* this.#taken();
        start = at + 1;
        this.#isClosed = this.#depth === 0;
      }
    }
    if (this.#depth > 0) this.keep(bytes.subarray(start));
  }

  end(): readonly FileRecord[] {
    if (this.#depth === 0) return [];
    throw invalidAt(this.path, this.#line, 'the list is not closed', 'check that the file is complete');
  }

  #readText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInText = false;
  }

  *#taken(): Generator<FileRecord> {
    const kept = this.take();
    const text = kept.trim();
    const blank = kept.slice(0, kept.length - kept.trimStart().length);
    if (text !== '') yield { text, line: this.line + (blank.match(/\n/g)?.length ?? 0) };
    this.line = this.#line;
  }
}
