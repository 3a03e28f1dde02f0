import { access, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { makeFolder } from '#base/make-folder.ts';
import { printWorkload, traceText } from '#workload/print-workload.ts';
import type { Workload } from '#workload/workload.ts';

export interface SaveRule {
  /** The path of the file; its traces are written next to it. */
  readonly path: string;
  /** The comment at the top of the file, in one or more lines. */
  readonly comment: string;
  /** Overwrites existing files. */
  readonly force: boolean;
}

/**
 * Writes a workload and its traces. Each file gets its name only when it is complete. Returns their
 * paths, the workload's first. Errors: OUTPUT_EXISTS for a file that already exists,
 * OUTPUT_UNWRITABLE.
 */
export async function saveWorkload(workload: Workload, { path, comment, force }: SaveRule): Promise<readonly string[]> {
  const folder = dirname(resolve(path));
  const stem = basename(path, extname(path));
  const ofTraces = workload.phases.filter(({ arrivals }) => arrivals.process === 'trace').length;
  const traceName = (phase: number): string => `${stem}${ofTraces > 1 ? `-${phase}` : ''}.csv`;
  const { yaml, traces } = printWorkload(workload, comment, traceName, (file) => relative(folder, file));
  const files = [
    ...traces.map(({ name, arrivals }) => ({ path: join(folder, name), text: traceText(arrivals, workload.classes) })),
    { path: resolve(path), text: [yaml] },
  ];
  if (!force) for (const file of files) await refuseExisting(file.path);
  await writing(path, makeFolder(folder));
  for (const file of files) await writing(file.path, write(file.path, file.text));
  return files.map((file) => file.path).reverse();
}

async function refuseExisting(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw new TrituneError('OUTPUT_EXISTS', `${path} already exists`, 'add --force to overwrite it');
}

async function write(path: string, pieces: Iterable<string>): Promise<void> {
  const part = `${path}.part`;
  try {
    await writeFile(part, pieces);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const writing = <T>(path: string, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw new TrituneError(
      'OUTPUT_UNWRITABLE',
      `cannot write ${path}: ${formatMessage(error)}`,
      'choose another --output',
    );
  });
