import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** The most bytes of a file by what it holds. SECURITY.md lists them. */
export const fileLimits = {
  /** A study spec, prices, candidates, or another short YAML or JSON file. */
  document: MIB,
  space: 256 * KIB,
  modelConfig: 4 * MIB,
  /** A certificate, a key or a token. */
  credential: MIB,
  workload: 32 * MIB,
  /** A summary, a result table, a recording, a page of counters, or a program's source. */
  results: 256 * MIB,
  tokenizer: 128 * MIB,
  /** Numbers, prompts or requests that are held in memory. */
  inputData: 256 * MIB,
  /** The file of a variant: it travels in one message. */
  artifact: 2 * GIB - 1,
  journal: GIB,
  /** Requests, traces: read piece by piece. */
  log: 64 * GIB,
} as const;

/**
 * Without waiting for the other end of a FIFO, and without taking a terminal. Windows has neither.
 */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const CHUNK_BYTES = MIB;
/** For what comes after as many bytes as a file is said to have: mostly its end. */
const REST_BYTES = 64 * KIB;
const END_BYTES = 4 * MIB;

/**
 * Thrown for a path that is no regular file, or for a file that is too long. Callers say in their
 * error which file that is.
 */
class FileFault extends Error {}

/**
 * Returns the content of a regular file. Throws a system error, or one that says that the file is
 * too long or what else the path is.
 */
export async function readBytes(path: string, limitBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of readPieces(path, limitBytes, true)) pieces.push(piece);
  return joined(pieces);
}

/** The same as text in UTF-8. */
export async function readText(path: string, limitBytes: number): Promise<string> {
  return (await readBytes(path, limitBytes)).toString('utf8');
}

/** The same as `readBytes`, at once. */
export const readBytesSync = (path: string, limitBytes: number): Buffer =>
  joined([...piecesSync(path, limitBytes, true)]);

/** The same as `readText`, at once. */
export const readTextSync = (path: string, limitBytes: number): string =>
  readBytesSync(path, limitBytes).toString('utf8');

/**
 * Yields a regular file piece by piece; each piece is the caller's to keep. Throws as `readBytes`
 * does.
 */
export async function* readPieces(
  path: string,
  limitBytes: number,
  isWhole = false,
): AsyncGenerator<Buffer, void, void> {
  const file = await open(path, FLAGS);
  try {
    const { size } = regular(await file.stat(), limitBytes);
    for (let read = 0; ; ) {
      const buffer = Buffer.allocUnsafeSlow(nextBytes(size - read, isWhole));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      read += bytesRead;
      if (read > limitBytes) throw tooLong(limitBytes);
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** The same as `readPieces`, at once. */
export function* piecesSync(path: string, limitBytes: number, isWhole = false): Generator<Buffer, void, void> {
  const file = openSync(path, FLAGS);
  try {
    const { size } = regular(fstatSync(file), limitBytes);
    for (let read = 0; ; ) {
      const buffer = Buffer.allocUnsafeSlow(nextBytes(size - read, isWhole));
      const bytesRead = readSync(file, buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      read += bytesRead;
      if (read > limitBytes) throw tooLong(limitBytes);
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    closeSync(file);
  }
}

/** Returns the first bytes of a regular file. Throws as `readBytes` does. */
export async function readStart(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, FLAGS);
  try {
    regular(await file.stat());
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * Returns the end of a regular file, such as the log of a server, as text. Throws as `readBytes`
 * does.
 */
export function readEndSync(path: string): string {
  const file = openSync(path, FLAGS);
  try {
    const { size } = regular(fstatSync(file));
    const buffer = Buffer.alloc(Math.min(END_BYTES, size));
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, size - buffer.length));
  } finally {
    closeSync(file);
  }
}

/**
 * Returns the absolute path of a file that a document in this folder names; undefined if it lies
 * outside of the folder, or if a link leads out of it.
 */
export function pathBelow(folder: string, named: string): string | undefined {
  const path = resolve(folder, named);
  return isBelow(resolve(folder), path) && isBelow(realPath(resolve(folder)), realPath(path)) ? path : undefined;
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Follows links as far as the path exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : resolve(realPath(above), relative(above, path));
  }
}

/**
 * Returns the length of the next piece, from what a file is said to have left: all of it where a
 * file is read as a whole, which then is not copied.
 */
const nextBytes = (leftBytes: number, isWhole: boolean): number =>
  leftBytes > 0 ? Math.min(leftBytes, isWhole ? GIB : CHUNK_BYTES) : REST_BYTES;

const joined = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);

function regular(stats: Stats, limitBytes = Number.POSITIVE_INFINITY): Stats {
  if (!stats.isFile()) throw new FileFault(`it is ${toKind(stats)}, not a file`);
  if (stats.size > limitBytes) throw tooLong(limitBytes);
  return stats;
}

function toKind(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

const tooLong = (limitBytes: number): FileFault =>
  new FileFault(
    `it is longer than ${limitBytes >= MIB ? `${Math.ceil(limitBytes / MIB)} MiB` : `${limitBytes / KIB} KiB`}`,
  );
