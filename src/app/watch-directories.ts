import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { readJournal } from '#study/records/journal.ts';
import { isLockedByOther } from '#study/records/journal-lock.ts';
import type { Board } from '#watch/board.ts';
import type { StudyHead } from '#watch/view/watched.ts';
import { studyFiles } from './run-directory.ts';

const LOOK_MS = 1_000;

interface SeenJournal {
  readonly size: number;
  readonly changedMs: number;
  readonly isOver: boolean;
  readonly startedAt: string | null;
}

type Filled = Pick<Board, 'list' | 'take' | 'known' | 'forget' | 'trouble'>;

/**
 * Shows the studies in directories and their subdirectories until the signal aborts. Reads journals
 * of other processes again when they grow. Reports unreadable journals on the page.
 */
export async function watchDirectories(
  directories: readonly string[],
  board: Filled,
  signal: AbortSignal,
): Promise<void> {
  const seen = new Map<string, SeenJournal>();
  while (!signal.aborted) {
    await lookOnce(directories, board, seen);
    await realClock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

/**
 * Looks at all directories once. `isWritten`: returns true if a process holds that lock. Exported
 * for tests.
 */
export async function lookOnce(
  directories: readonly string[],
  board: Filled,
  seen: Map<string, SeenJournal>,
  isWritten: (lock: string) => boolean = isLockedByOther,
): Promise<void> {
  const journals = await studiesIn(directories);
  const listed = (): void => board.list(listHeads(journals, seen, isWritten));
  const faults: string[] = [];
  for (const [name, path] of journals) {
    const { size, mtimeMs } = await readSize(path);
    const before = seen.get(name);
    if (size === 0 || (before?.size === size && before.changedMs === mtimeMs)) continue;
    try {
      const records = await readJournal(path);
      if (records.length < board.known(name)) board.forget(name);
      const isOver = records.at(-1)?.type === 'study-finished';
      seen.set(name, { size, changedMs: mtimeMs, isOver, startedAt: records[0]?.at ?? null });
      listed();
      for (const record of records.slice(board.known(name))) board.take(name, record);
    } catch (error) {
      faults.push(formatMessage(error));
    }
  }
  listed();
  board.trouble([...faults, ...(await listAbsent(directories))][0] ?? null);
}

/**
 * Returns the heads, latest start first. A study without a writer and without an end was
 * interrupted.
 */
const listHeads = (
  journals: ReadonlyMap<string, string>,
  seen: ReadonlyMap<string, SeenJournal>,
  isWritten: (lock: string) => boolean,
): readonly StudyHead[] =>
  [...journals]
    .flatMap(([study, path]): readonly StudyHead[] => {
      const journal = seen.get(study);
      if (!journal) return [];
      const status = journal.isOver ? 'over' : isWritten(`${path}.lock`) ? 'under way' : 'interrupted';
      return [{ study, group: null, status, startedAt: journal.startedAt }];
    })
    .sort((a, b) => (b.startedAt ?? '').localeCompare(a.startedAt ?? ''));

/**
 * The maximum number of studies shown, the last written ones first: a folder of all runs may have
 * hundreds.
 */
const MAX_STUDIES = 20;

/** Returns the journals in directories or their subdirectories, by study name. */
async function studiesIn(directories: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const journals = await journalsIn(directories);
  const dated = await Promise.all([...journals].map(async (each) => ({ each, ...(await readSize(each[1])) })));
  return new Map(
    dated
      .sort((a, b) => b.mtimeMs - a.mtimeMs)
      .slice(0, MAX_STUDIES)
      .map(({ each }) => each),
  );
}

const readSize = (path: string): Promise<{ readonly size: number; readonly mtimeMs: number }> =>
  stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));

/**
 * Returns a line for each directory that is not there: a study may still create it, or its name is
 * mistyped.
 */
async function listAbsent(directories: readonly string[]): Promise<string[]> {
  const lines = directories.map((directory) =>
    stat(directory).then(
      () => [],
      () => [`the directory '${directory}' does not exist yet`],
    ),
  );
  return (await Promise.all(lines)).flat();
}

async function journalsIn(directories: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const journals = new Map<string, string>();
  for (const directory of directories) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
    for (const place of [directory, ...inner]) {
      const { journal } = studyFiles(resolve(place));
      const isKnown = [...journals.values()].includes(journal);
      if (!isKnown && (await isThere(journal))) journals.set(nameIn(journals, place), journal);
    }
  }
  return journals;
}

/** Returns the directory's name, or its whole path if another study has that name. */
function nameIn(journals: ReadonlyMap<string, string>, directory: string): string {
  const path = resolve(directory);
  return journals.has(basename(path)) ? path : basename(path);
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (file) => file.isFile(),
    () => false,
  );
