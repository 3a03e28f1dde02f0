import { join } from 'node:path';
import type { JsonObject } from '../base/json.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal } from '../study/journal.ts';
import { isDone } from '../study/series-summary.ts';
import { commandLineWithoutValues, withHeadersAgain, withoutHeaderValues } from './header-options.ts';
import { discardEmpty, prepareOutput, studyFiles } from './output-directory.ts';
import {
  directoriesFor,
  discardEmptySeries,
  hasBegun,
  lockSeries,
  readSeriesFile,
  type SeriesFile,
  writeSeriesFile,
} from './series-directory.ts';
import { modelsIn, optionsFor, type SeriesOptions } from './series-options.ts';
import { endingsIn } from './series-record.ts';
import type { TuneOptions } from './tune-options.ts';
import { checkOptions, checkResumable, openRequest, type TuneRequest } from './tune-request.ts';

/** One model's turn in a series. */
export interface Turn {
  readonly model: string;
  /** The name of its directory in that of the series, and its path. */
  readonly name: string;
  readonly directory: string;
  /** What is to be done; null for a study that is finished already. */
  readonly request: TuneRequest | null;
  /** That earlier runs took for it. */
  readonly spentSeconds: number;
}

/** A series that this process holds the directory of. */
export interface OpenSeries {
  readonly options: SeriesOptions;
  readonly directory: string;
  readonly turns: readonly Turn[];
  /** Lets go of the journals and the directory, and takes away what holds nothing. */
  close(): Promise<void>;
}

type Given = ReadonlySet<keyof TuneOptions>;

/** Opens the directory of a new series, or with `--resume` an earlier one, and the studies of its models. Errors: as `openRequest`. */
export function openSeries(options: SeriesOptions, given: Given, wallMs: number): Promise<OpenSeries> {
  return options.resume === undefined ? newSeries(options, given, wallMs) : resumedSeries(options, given, wallMs);
}

async function newSeries(options: SeriesOptions, given: Given, wallMs: number): Promise<OpenSeries> {
  const models = modelsIn(options);
  for (const model of models) checkOptions(optionsFor(options, model));
  const directory = await prepareOutput(options.output, models.join('-'), wallMs);
  return held(directory, async () => {
    const places = directoriesFor(models);
    await writeSeriesFile(directory, {
      models: places,
      options: JSON.parse(JSON.stringify(withoutHeaderValues(options))) as JsonObject,
      commandLine: commandLineWithoutValues(process.argv.slice(2), options),
    });
    return { options, places, given, wallMs };
  });
}

async function resumedSeries(options: SeriesOptions, given: Given, wallMs: number): Promise<OpenSeries> {
  const directory = options.resume as string;
  checkResumable(given);
  return held(directory, async () => {
    const file = await readSeriesFile(directory);
    const kept = file.options as unknown as SeriesOptions;
    const anew = Object.fromEntries([...given].map((key) => [key, options[key]]));
    return { options: { ...withHeadersAgain(kept, options), ...anew }, places: file.models, given, wallMs };
  });
}

interface Opening {
  readonly options: SeriesOptions;
  readonly places: SeriesFile['models'];
  readonly given: Given;
  readonly wallMs: number;
}

/** Locks the directory, and opens all studies at once: no other run can come between the turns. */
async function held(directory: string, prepare: () => Promise<Opening>): Promise<OpenSeries> {
  const unlock = lockSeries(directory);
  const turns: Turn[] = [];
  const close = async (): Promise<void> => {
    for (const { request } of turns) await request?.journal.close();
    for (const turn of turns) await discardEmpty(turn.directory);
    unlock();
    await discardEmptySeries(directory);
  };
  try {
    const opening = await prepare();
    for (const place of opening.places) turns.push(await openTurn(directory, place, opening));
    return { options: opening.options, directory, turns, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openTurn(
  seriesDirectory: string,
  { model, directory: name }: SeriesFile['models'][number],
  { options, given, wallMs }: Opening,
): Promise<Turn> {
  const directory = join(seriesDirectory, name);
  const own = optionsFor(options, model);
  const place = { model, name, directory };
  if (!(await hasBegun(directory))) {
    // A killed series leaves empty journals of the models that were to come.
    await discardEmpty(directory);
    const request = await openRequest({ ...own, resume: undefined, output: directory }, given, wallMs);
    return { ...place, request, spentSeconds: 0 };
  }
  const state = foldStudy(await readJournal(studyFiles(directory).journal));
  const hasEndedWell = (await endingsIn(seriesDirectory)).get(model)?.error === null;
  const request = isDone(state, hasEndedWell) ? null : await openRequest({ ...own, resume: directory }, given, wallMs);
  return { ...place, request, spentSeconds: state.elapsedSeconds };
}
