import { access, constants, mkdtemp, rm, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { makeFolder } from '#base/make-folder.ts';
import { placeIn } from '#base/run-files.ts';

export const RUNS_DIRECTORY = 'tritune-runs';

/** The files of a study's directory. */
export const studyFiles = (directory: string) => ({ directory, journal: join(directory, 'journal.jsonl') });

/**
 * Returns the path of the journal, to write to it. Errors: OUTPUT_UNWRITABLE for a link in its
 * place.
 */
export const journalToWrite = (directory: string): Promise<string> =>
  placeIn(directory, [basename(studyFiles(directory).journal)]);

/**
 * Creates the directory of a new study, and checks that it is writable. Its default is
 * `tritune-runs/MODEL-TIMESTAMP`. Errors: OUTPUT_UNWRITABLE.
 */
export async function prepareOutput(
  askedDirectory: string | undefined,
  model: string,
  wallMs: number,
): Promise<string> {
  const directory = askedDirectory ?? join(RUNS_DIRECTORY, `${safeName(model)}-${timestamp(wallMs)}`);
  try {
    await makeFolder(directory);
    await access(directory, constants.W_OK);
  } catch (error) {
    throw new TrituneError(
      'OUTPUT_UNWRITABLE',
      `cannot write to ${directory}: ${formatMessage(error)}`,
      'choose another directory with --output',
      {
        cause: error,
      },
    );
  }
  return directory;
}

/**
 * Returns a model's name as one harmless path segment, on Windows too. The name comes from a
 * server, so it may contain anything.
 */
export function safeName(model: string): string {
  const name = model
    .slice(0, 100)
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^\.+/, '_')
    .replace(/\.$/, '_');
  return deviceName.test(name) ? `_${name.slice(0, 99)}` : name || '_';
}

/** Windows opens a device instead of a file with one of these names, whatever its extension. */
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

const timestamp = (wallMs: number): string =>
  new Date(wallMs).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');

/**
 * Removes the empty journal of a run that ended before it wrote anything, and the directory if
 * nothing else is in it.
 */
export async function discardEmpty(directory: string): Promise<void> {
  const { journal } = studyFiles(directory);
  const size = await stat(journal).then(
    (stats) => stats.size,
    () => null,
  );
  if (size !== 0) return;
  await rm(journal, { force: true });
  await rmdir(directory).catch(() => undefined);
}

/** A folder that a run needs only while it lasts. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Creates a folder in the system's folder for temporary files; whoever creates it removes it. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'tritune-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
