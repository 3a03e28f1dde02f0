import { type FileHandle, open, stat } from 'node:fs/promises';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { flushFolders } from '#base/flush-folders.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import { unwritable } from '#base/run-files.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import { takeLock } from './journal-lock.ts';
import {
  faultOfJson,
  formatJson,
  isUnbegun,
  type JournalText,
  parseForRestoring,
  parseJournal,
} from './journal-text.ts';
import { LineSealer } from './line-seal.ts';
import type { StudyRecord } from './records.ts';
import { runKey } from './run-key.ts';

/** The append-only truth of a study. */
export interface Journal {
  /**
   * Resolves when the record is flushed to the disk. Errors: RECORD_INVALID for a record that could
   * not be read again, which is not written; OUTPUT_UNWRITABLE, after which the journal takes no
   * more records.
   */
  append(record: StudyRecord): Promise<void>;
  /** Releases the file and the lock. */
  close(): Promise<void>;
}

/** A journal as it was found, before anything is done with it. */
export type StoredJournal = Pick<JournalText, 'records' | 'origin'> & {
  /** Why the records are those only that `restore` needs; absent for a whole journal. */
  readonly fault?: string;
};

/** Decides whether the run goes on with a journal: throws if not. */
export type Admit = (journal: StoredJournal) => Promise<void> | void;

const NEWLINE = 0x0a;

/**
 * Creates a journal, locked for this process. A run that was killed before it changed anything
 * leaves one without a whole record, which is taken over. Errors: OUTPUT_LOCKED, OUTPUT_EXISTS,
 * OUTPUT_UNWRITABLE.
 */
export async function createJournal(path: string): Promise<Journal> {
  const unlock = takeLock(`${path}.lock`);
  try {
    const left = await readBytes(path, fileLimits.journal).catch(() => null);
    const isTakenOver = left !== null && isUnbegun(left);
    const file = await open(path, isTakenOver ? 'r+' : 'wx');
    if (isTakenOver) await file.truncate(0);
    // The first record is to be found again when the power goes after the first change.
    flushFolders(path);
    return openedJournal(file, path, { end: 0, sinceCheck: new Uint8Array(), key: runKey().key }, unlock);
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
 * Opens the journal of an earlier run, locked for this process, with its records, whose goals use
 * these metrics. Cuts off a torn last line. Errors: OUTPUT_LOCKED, JOURNAL_INVALID,
 * OUTPUT_UNWRITABLE, those of `admit`.
 */
export const resumeJournal = (
  path: string,
  metrics: Metrics = builtInMetrics,
  admit: Admit = () => undefined,
): Promise<{ journal: Journal } & StoredJournal> =>
  reopened(path, admit, (bytes, key) => parseJournal(bytes, path, metrics, key));

/**
 * Does `resumeJournal` to restore what the run changed: of a damaged journal, with a sound first
 * record, it has what is sound. Errors: the same.
 */
export const resumeForRestoring = (path: string, admit: Admit): Promise<{ journal: Journal } & StoredJournal> =>
  reopened(path, admit, (bytes, key) => soundIn(bytes, path, key));

/**
 * Returns what `resumeForRestoring` finds in a journal, which another process may be writing.
 * Errors: JOURNAL_INVALID.
 */
export const readForRestoring = async (path: string): Promise<StoredJournal> =>
  soundIn(await read(path), path, runKey().key);

function soundIn(bytes: Buffer, path: string, key: Buffer | null): JournalText & StoredJournal {
  try {
    return parseJournal(bytes, path, builtInMetrics, key);
  } catch (error) {
    if (!isTrituneError(error, 'JOURNAL_INVALID')) throw error;
    return { ...parseForRestoring(bytes, path, key), fault: error.message };
  }
}

async function reopened(
  path: string,
  admit: Admit,
  parse: (bytes: Buffer, key: Buffer | null) => JournalText & StoredJournal,
): Promise<{ journal: Journal } & StoredJournal> {
  await stat(path).catch((error: unknown) => {
    throw notReadable(path, error);
  });
  const unlock = takeLock(`${path}.lock`);
  try {
    const bytes = await read(path);
    const { length, lastCheck, ...rest } = parse(bytes, runKey().key);
    await admit(rest);
    const file = await open(path, 'r+').catch((error: unknown) => {
      throw unwritable(path, error);
    });
    await file.truncate(length);
    // A mark stands for all lines before it, too.
    const key = rest.origin === 'own' ? runKey().key : null;
    const place = { end: length, sinceCheck: bytes.subarray(lastCheck, length), key };
    return { journal: openedJournal(file, path, place, unlock), ...rest };
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Returns the records of a journal, which another process may be writing; their goals use these
 * metrics. Errors: JOURNAL_INVALID, also for an unknown metric.
 */
export async function readJournal(path: string, metrics: Metrics = builtInMetrics): Promise<readonly StudyRecord[]> {
  return parseJournal(await read(path), path, metrics).records;
}

/** Returns the records of a journal, and whose it is. Errors: JOURNAL_INVALID. */
export const findJournal = async (path: string): Promise<StoredJournal> =>
  parseJournal(await read(path), path, builtInMetrics, runKey().key);

/** Where a journal goes on, and what it has from its last check value on. */
interface Place {
  readonly end: number;
  readonly sinceCheck: Uint8Array;
  /** Marks what is written. */
  readonly key: Buffer | null;
}

function openedJournal(file: FileHandle, path: string, place: Place, unlock: () => void): Journal {
  let { end } = place;
  // Only a damaged journal is open at its end.
  const feed = place.sinceCheck.at(-1) === NEWLINE || end === 0 ? '' : '\n';
  let before = feed;
  const sealer = new LineSealer(place.key, Buffer.concat([place.sinceCheck, Buffer.from(feed)]));
  let broken: TrituneError | undefined;
  const write = async (record: StudyRecord): Promise<void> => {
    if (broken) throw broken;
    const json = formatJson(record);
    const fault = faultOfJson(json, toMetrics(record));
    if (fault !== null) throw unreadable(record, fault);
    const line = Buffer.from(`${before}${sealer.seal(json)}`);
    try {
      await writeWhole(file, line, end);
      await file.sync();
      await checkInPlace(file, path);
      end += line.length;
      before = '';
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

/** Those that a goal names have been looked up when it was made. */
const toMetrics = (record: StudyRecord): Metrics =>
  (record.type === 'study-started' || record.type === 'goal-changed' ? record.goal.metrics : undefined) ??
  builtInMetrics;

const unreadable = ({ type }: StudyRecord, fault: string): TrituneError =>
  new TrituneError(
    'RECORD_INVALID',
    `this record could not be read again, so it was not written: ${type}${fault}`,
    'the server, the adapter or the sampler that gave this value is at fault: the path names its part of the record',
  );

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
  const [stats, there] = await Promise.all([file.stat(), stat(path).catch(() => null)]);
  if (there?.ino !== stats.ino) throw new Error('it was moved or deleted while the run wrote to it');
}

async function read(path: string): Promise<Buffer> {
  return readBytes(path, fileLimits.journal).catch((error: unknown) => {
    throw notReadable(path, error);
  });
}

const notReadable = (path: string, error: unknown): TrituneError =>
  new TrituneError(
    'JOURNAL_INVALID',
    `cannot read ${path}: ${formatMessage(error)}`,
    'give the output directory of an earlier run',
    { cause: error },
  );
