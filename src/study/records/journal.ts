import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { nestsDeeperThan } from '../../base/json.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import { takeLock } from './journal-lock.ts';
import { withoutPrototypeKeys } from './prototype-keys.ts';
import { checkRecord } from './record-schema.ts';
import type { StudyRecord } from './records.ts';

/** The append-only truth of a study. */
export interface Journal {
  /** Resolves when the record is on the disk. Errors: OUTPUT_UNWRITABLE; after one, the journal takes no more records. */
  append(record: StudyRecord): Promise<void>;
  /** Releases the file and the lock. */
  close(): Promise<void>;
}

/** The content of a journal file. `length`: its bytes up to the end of the last whole line; the rest is torn. */
interface JournalText {
  readonly records: readonly StudyRecord[];
  readonly length: number;
}

/** Caps against hostile or broken files; a config of a few thousand tensors stays far below the first. */
const MAX_LINE_BYTES = 8 * 2 ** 20;
const MAX_FILE_BYTES = 2 ** 30;
/** A model config is nested up to 100 deep, and lies within a record. */
const MAX_DEPTH = 128;
const NEWLINE = 0x0a;

/**
 * Creates a journal, locked for this process. A run that was killed before it changed anything leaves an empty one, which is taken over. Errors:
 * OUTPUT_LOCKED, OUTPUT_EXISTS, OUTPUT_UNWRITABLE.
 */
export async function createJournal(path: string): Promise<Journal> {
  const unlock = takeLock(`${path}.lock`);
  try {
    const isEmpty = (await stat(path).catch(() => null))?.size === 0;
    return openedJournal(await open(path, isEmpty ? 'r+' : 'wx'), path, 0, unlock);
  } catch (error) {
    unlock();
    if ((error as { code?: unknown }).code !== 'EEXIST') throw unwritable(path, error);
    throw new TrituneError(
      'OUTPUT_EXISTS',
      `${path} already contains a study`,
      'continue it with --resume, or choose another --output',
    );
  }
}

/**
 * Opens the journal of an earlier run, locked for this process, with its records, whose goals use these metrics. Cuts off a torn last line. Errors:
 * OUTPUT_LOCKED, JOURNAL_INVALID, OUTPUT_UNWRITABLE.
 */
export async function resumeJournal(
  path: string,
  metrics: Metrics = builtInMetrics,
): Promise<{ journal: Journal; records: readonly StudyRecord[] }> {
  await fileSize(path);
  const unlock = takeLock(`${path}.lock`);
  try {
    const { records, length } = await readText(path, metrics);
    const file = await open(path, 'r+').catch((error: unknown) => {
      throw unwritable(path, error);
    });
    await file.truncate(length);
    return { journal: openedJournal(file, path, length, unlock), records };
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Returns the records of a journal, which another process may be writing; their goals use these metrics. Errors: JOURNAL_INVALID, also for an
 * unknown metric.
 */
export async function readJournal(path: string, metrics: Metrics = builtInMetrics): Promise<readonly StudyRecord[]> {
  return (await readText(path, metrics)).records;
}

function openedJournal(file: FileHandle, path: string, length: number, unlock: () => void): Journal {
  let end = length;
  let broken: TrituneError | undefined;
  const write = async (record: StudyRecord): Promise<void> => {
    if (broken) throw broken;
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      await writeWhole(file, line, end);
      await file.sync();
      await checkInPlace(file, path);
      end += line.length;
    } catch (error) {
      broken = unwritable(path, error);
      await file.truncate(end).catch(() => undefined);
      throw broken;
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    append(record) {
      const written = last.then(() => write(record));
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      await last;
      await file.close();
      unlock();
    },
  };
}

/** A nearly full disk silently takes only a part of the bytes. */
async function writeWhole(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    if (bytesWritten === 0) throw new Error('the disk takes no more');
    written += bytesWritten;
  }
}

/** Writes to a deleted file are lost without an error. */
async function checkInPlace(file: FileHandle, path: string): Promise<void> {
  const [own, there] = await Promise.all([file.stat(), stat(path).catch(() => null)]);
  if (there?.ino !== own.ino) throw new Error('it was moved or deleted while the run wrote to it');
}

async function readText(path: string, metrics: Metrics): Promise<JournalText> {
  if ((await fileSize(path)) > MAX_FILE_BYTES) throw invalid(path, 'it is longer than 1 GiB');
  return parseJournal(await readFile(path), path, metrics);
}

/** Errors: JOURNAL_INVALID with the line's number, for anything but a torn last line. Exported for the tests of damage. */
export function parseJournal(bytes: Uint8Array, path: string, metrics: Metrics = builtInMetrics): JournalText {
  const records: StudyRecord[] = [];
  let start = 0;
  for (let line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0) break;
    if (end - start > MAX_LINE_BYTES) throw invalid(path, `line ${line} is longer than 8 MiB`);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
    const value = parseLine(text);
    const isLast = end === bytes.length - 1;
    if (value === undefined && isLast) break;
    if (value === undefined) throw invalid(path, `line ${line} is not JSON`);
    if (nestsDeeperThan(MAX_DEPTH, value)) throw invalid(path, `line ${line} is nested more than ${MAX_DEPTH} deep`);
    const mayReach = /__proto__|\\u/.test(text);
    const checked = checkRecord(mayReach ? withoutPrototypeKeys(value) : value, metrics);
    if ('fault' in checked) throw invalid(path, `line ${line}: ${checked.fault}`);
    if (line === 1 && checked.record.type !== 'study-started') throw invalid(path, 'line 1 does not start a study');
    records.push(checked.record);
    start = end + 1;
  }
  if (records.length === 0) throw invalid(path, 'it contains no study');
  return { records, length: start };
}

/** undefined if it is not JSON. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function fileSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw new TrituneError(
      'JOURNAL_INVALID',
      `cannot read ${path}: ${messageOf(error)}`,
      'give the output directory of an earlier run',
      {
        cause: error,
      },
    );
  }
}

function invalid(path: string, fault: string): TrituneError {
  return new TrituneError(
    'JOURNAL_INVALID',
    `the journal ${path} is damaged: ${fault}`,
    'start a new study in another --output directory',
  );
}

function unwritable(path: string, error: unknown): TrituneError {
  return new TrituneError(
    'OUTPUT_UNWRITABLE',
    `cannot write ${path}: ${messageOf(error)}`,
    'free some space or choose another --output',
    {
      cause: error,
    },
  );
}
