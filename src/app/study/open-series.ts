import { join } from 'node:path';
import { TrituneError } from '#base/errors.ts';
import type { SeriesSpec } from '#spec/series-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import { isDone } from '#study/summary/series-summary.ts';
import { checkTrusted } from '../admit-run.ts';
import { discardEmpty, prepareOutput, studyFiles } from '../run-directory.ts';
import { effectsOfStudy } from '../run-effects.ts';
import { commandLineWithoutValues } from '../server/headers.ts';
import { checkSpec, openStudy, RESUME, type ResumeTrust, recordedSpec, resumeStudy } from './open-study.ts';
import {
  directoriesFor,
  discardEmptySeries,
  hasBegun,
  lockSeries,
  readSeriesFile,
  type SeriesFile,
  writeSeriesFile,
} from './series-directory.ts';
import { endingsIn } from './series-record.ts';
import type { OpenStudy } from './study.ts';

/** One model's turn in a series. */
export interface Turn {
  readonly model: string;
  /** The name of the study's directory in that of the series, and its path. */
  readonly name: string;
  readonly directory: string;
  /** The study of the turn; null if it has finished already. */
  readonly study: OpenStudy | null;
  /** Seconds that earlier runs spent on it. */
  readonly spentSeconds: number;
}

/** A series whose directory this process has locked. */
export interface OpenSeries {
  readonly spec: SeriesSpec;
  readonly directory: string;
  readonly turns: readonly Turn[];
  /** Releases the journals and the directory, and removes what is empty. */
  close(): Promise<void>;
}

/** Errors: USAGE for several studies with an adapter or a launch command among them. */
export function checkSeriesStudies(studies: readonly StudySpec[]): void {
  const byAdapter = studies.some(({ adapter }) => adapter !== undefined);
  const byCommand = studies.some(({ server: { launchCommand } }) => launchCommand !== undefined);
  if (studies.length === 1 || !(byAdapter || byCommand)) return;
  const named = byAdapter ? '--adapter' : '--launch-command';
  throw new TrituneError('USAGE', `${named} works with one model only`, 'run tritune tune once for each model');
}

/** Opens the directory of a new series and the studies of its models. Errors: as `openStudy`. */
export async function newSeries(spec: SeriesSpec, commandLine: readonly string[], wallMs: number): Promise<OpenSeries> {
  for (const study of spec.studies) checkSpec(study);
  const models = spec.studies.map(({ model }) => model);
  const directory = await prepareOutput(spec.output, models.join('-'), wallMs);
  return held(directory, wallMs, async () => {
    const places = directoriesFor(models);
    await writeSeriesFile(directory, {
      models: places,
      spec: { ...spec, studies: spec.studies.map(recordedSpec) },
      commandLine: shownCommandLine(commandLine, spec),
    });
    return { spec, places, commandLine };
  });
}

/**
 * Opens an earlier series to continue it. `change` takes a stored spec, of a study or of the
 * series, and returns the one to use. Errors: as `resumeStudy`.
 */
export async function resumeSeries(
  directory: string,
  change: (kept: StudySpec) => StudySpec,
  trust: ResumeTrust,
  timeBudgetSeconds: number | undefined,
  wallMs: number,
): Promise<OpenSeries> {
  return held(directory, wallMs, async () => {
    const { spec: kept, models: places, commandLine, origin } = await readSeriesFile(directory);
    const { typed = {}, command = RESUME } = trust;
    const effects = (): readonly string[] => kept.studies.flatMap((study) => effectsOfStudy(study, typed));
    await checkTrusted({ directory, origin, command, effects }, trust);
    const spec = {
      ...kept,
      studies: kept.studies.map(change),
      timeBudgetSeconds: timeBudgetSeconds ?? kept.timeBudgetSeconds,
    };
    return { spec, places, commandLine, resuming: { change, trust } };
  });
}

interface Opening {
  readonly spec: SeriesSpec;
  readonly places: SeriesFile['models'];
  readonly commandLine: readonly string[];
  /** Absent for a new series. */
  readonly resuming?: { readonly change: (kept: StudySpec) => StudySpec; readonly trust: ResumeTrust };
}

/**
 * Locks the directory and opens all studies at once, so that no other run can come between the
 * turns.
 */
async function held(directory: string, wallMs: number, prepare: () => Promise<Opening>): Promise<OpenSeries> {
  const unlock = lockSeries(directory);
  const turns: Turn[] = [];
  const close = async (): Promise<void> => {
    for (const { study } of turns) await study?.journal.close();
    for (const turn of turns) await discardEmpty(turn.directory);
    unlock();
    await discardEmptySeries(directory);
  };
  try {
    const opening = await prepare();
    for (const place of opening.places) turns.push(await openTurn(directory, place, opening, wallMs));
    return { spec: opening.spec, directory, turns, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openTurn(
  seriesDirectory: string,
  { model, directory: name }: SeriesFile['models'][number],
  { spec, commandLine, resuming }: Opening,
  wallMs: number,
): Promise<Turn> {
  const directory = join(seriesDirectory, name);
  const place = { model, name, directory };
  if (!(await hasBegun(directory))) {
    // A killed series leaves empty journals of the models whose turns had not come.
    await discardEmpty(directory);
    const ownStudy = spec.studies.find((study) => study.model === model) as StudySpec;
    return {
      ...place,
      study: await openStudy({ ...ownStudy, output: directory }, { commandLine }, wallMs),
      spentSeconds: 0,
    };
  }
  const state = foldStudy(await readJournal(studyFiles(directory).journal));
  const hasEndedWell = (await endingsIn(seriesDirectory)).get(model)?.error === null;
  const study =
    isDone(state, hasEndedWell) || !resuming ? null : await resumeStudy(directory, resuming.change, resuming.trust);
  return { ...place, study, spentSeconds: state.elapsedSeconds };
}

const shownCommandLine = (commandLine: readonly string[], { studies }: SeriesSpec): readonly string[] =>
  studies.reduce((shown, { server }) => commandLineWithoutValues(shown, server), commandLine);
