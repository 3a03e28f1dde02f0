import { access, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { canonicalJson, isJsonObject, type Json } from '#base/json.ts';
import { trituneVersion } from '#base/package.ts';
import { fileLimits, readBytes, readText } from '#base/read-file.ts';
import { checkFree, placeIn } from '#base/run-files.ts';
import type { SeriesOptions } from '#spec/series-fields.ts';
import { toSeries } from '#spec/series-options.ts';
import { type SeriesSpec, seriesSpec } from '#spec/series-spec.ts';
import { takeLock } from '#study/records/journal-lock.ts';
import { isUnbegun, type Origin } from '#study/records/journal-text.ts';
import { computeCheck, formatMark } from '#study/records/line-seal.ts';
import { runKey } from '#study/records/run-key.ts';
import { SERIES_REPORT, SERIES_SUMMARY } from '#study/summary/series-summary.ts';
import { safeName, studyFiles } from '../run-directory.ts';

/**
 * The contents of `series.json`: the models of a series, the directory of each study, and how the
 * series was started.
 */
const schema = z.object({
  schemaVersion: z.literal(2),
  // tritune never writes a path segment that could lead elsewhere.
  models: z
    .array(
      z.object({
        model: z.string().min(1),
        directory: z.string().refine((name) => name !== '' && safeName(name) === name),
      }),
    )
    .min(1),
  spec: seriesSpec,
  commandLine: z.array(z.string()),
  trituneVersion: z.string(),
  // Authenticates the rest with the key of the user who wrote it.
  mark: z.string().optional(),
});

export type SeriesFile = z.infer<typeof schema>;

const FILE = 'series.json';
const fileIn = (directory: string): string => join(directory, FILE);

/** Names of other files in the directory of a series. */
const TAKEN = ['server', FILE, `${FILE}.lock`, SERIES_SUMMARY, SERIES_REPORT];

/** True for the directory of a series; false for that of a single study or anything else. */
export const isSeries = (directory: string): Promise<boolean> =>
  access(fileIn(directory)).then(
    () => true,
    () => false,
  );

/**
 * Returns a safe and unique directory name for each model, also on file systems that ignore case.
 */
export function directoriesFor(models: readonly string[]): SeriesFile['models'] {
  const taken = new Set(TAKEN);
  return models.map((model) => {
    const name = safeName(model);
    let directory = name;
    for (let count = 2; taken.has(directory.toLowerCase()); count++) directory = `${name.slice(0, 90)}-${count}`;
    taken.add(directory.toLowerCase());
    return { model, directory };
  });
}

/**
 * Locks the directory against other runs. Returns the function that releases it. Errors:
 * OUTPUT_LOCKED, OUTPUT_UNWRITABLE.
 */
export const lockSeries = (directory: string): (() => void) => takeLock(`${fileIn(directory)}.lock`);

/** Errors: OUTPUT_EXISTS for a directory that holds a study or a series, OUTPUT_UNWRITABLE. */
export async function writeSeriesFile(
  directory: string,
  series: {
    readonly models: SeriesFile['models'];
    readonly spec: SeriesSpec;
    readonly commandLine: readonly string[];
  },
): Promise<void> {
  if ((await isSeries(directory)) || (await readSize(studyFiles(directory).journal)) !== null)
    throw occupied(directory);
  await checkFree(directory, [SERIES_SUMMARY, SERIES_REPORT]);
  const content = { schemaVersion: 2, ...series, trituneVersion };
  const { key } = runKey();
  const marked = { ...content, ...(key && { mark: markOfSeries(JSON.parse(JSON.stringify(content)), key) }) };
  await writeFile(fileIn(directory), `${JSON.stringify(marked, null, 2)}\n`, { flag: 'wx' }).catch((error: unknown) => {
    const message = `cannot write ${fileIn(directory)}: ${formatMessage(error)}`;
    throw new TrituneError('OUTPUT_UNWRITABLE', message, 'choose another --output', { cause: error });
  });
}

export const occupied = (directory: string): TrituneError =>
  new TrituneError(
    'OUTPUT_EXISTS',
    `${directory} already contains studies`,
    'continue them with --resume, or choose another --output',
  );

const markOfSeries = (content: Json, key: Buffer): string =>
  formatMark(computeCheck(Buffer.from(`series ${canonicalJson(content)}`)), key);

function findOrigin(file: unknown): Origin {
  if (!isJsonObject(file) || file.mark === undefined) return 'unmarked';
  const { mark, ...content } = file;
  const { key } = runKey();
  return key !== null && mark === markOfSeries(content, key) ? 'own' : 'foreign';
}

/** Errors: JOURNAL_INVALID. */
export async function readSeriesFile(directory: string): Promise<SeriesFile & { readonly origin: Origin }> {
  try {
    const file: unknown = JSON.parse(await readText(fileIn(directory), fileLimits.results));
    return { ...schema.parse(migrated(file)), origin: findOrigin(file) };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : formatMessage(error);
    throw new TrituneError(
      'JOURNAL_INVALID',
      `cannot read ${fileIn(directory)}: ${reason}`,
      'give the directory of one of its models instead',
      { cause: error },
    );
  }
}

/**
 * Converts `series.json` of 0.1.0, which holds the options of the command line instead of the spec.
 * Errors: USAGE.
 */
function migrated(value: unknown): unknown {
  if (!isJsonObject(value) || value.schemaVersion !== 1 || !isJsonObject(value.options)) return value;
  const { options, ...rest } = value;
  return { ...rest, schemaVersion: 2, spec: toSeries(options as unknown as SeriesOptions) };
}

/**
 * Returns the directories of the begun studies of a run: its own, or those of a series. Errors:
 * JOURNAL_INVALID.
 */
export async function studiesIn(directory: string): Promise<readonly string[]> {
  if (!(await isSeries(directory))) return [directory];
  const { models } = await readSeriesFile(directory);
  // Nothing is written through a link to a folder elsewhere.
  const all = await Promise.all(models.map((each) => placeIn(directory, [each.directory])));
  const begun = await Promise.all(all.map(hasBegun));
  return all.filter((_, index) => begun[index]);
}

/** True if the study's journal has any records, or is no journal that this can be said of. */
export async function hasBegun(directory: string): Promise<boolean> {
  const { journal } = studyFiles(directory);
  if (((await readSize(journal)) ?? 0) === 0) return false;
  const bytes = await readBytes(journal, fileLimits.journal).catch(() => null);
  return bytes === null || !isUnbegun(bytes);
}

/**
 * Removes the files of a series that ended before its first turn: no study has begun, and no
 * summary says why.
 */
export async function discardEmptySeries(directory: string): Promise<void> {
  const summary = await readSize(join(directory, SERIES_SUMMARY));
  if (summary !== null || (await studiesIn(directory)).length > 0) return;
  await rm(fileIn(directory), { force: true });
  await rmdir(directory).catch(() => undefined);
}

const readSize = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  );
