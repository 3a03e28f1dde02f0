import { isDeepStrictEqual } from 'node:util';
import { withStudyProtocol } from '#app/server/find-protocol.ts';
import { checkSeriesStudies, newSeries, type OpenSeries, resumeSeries } from '#app/study/open-series.ts';
import { resumeTrust } from '#app/study/open-study.ts';
import { resumedSpec } from '#app/study/resumed-spec.ts';
import { isSeries } from '#app/study/series-directory.ts';
import { tuneSeries as tuneTurns } from '#app/study/tune-series.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { checkSeriesSpec, type SeriesSpec } from '#spec/series-spec.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { SeriesSummary } from '#study/summary/summary-schema.ts';
import { checkOptions, type TuneOptions } from './options.ts';
import type { TuneEvent, TuneWatch } from './tune.ts';

/** Options of `tune` that a series does not have. */
type OfOneStudy = 'model' | 'spec' | 'sampler' | 'adapter' | 'metrics' | 'together' | 'mix';

/**
 * A model of a series, with the options that only its study has. Those of the server and the series
 * are for all models.
 */
export interface SeriesModel extends Omit<TuneOptions, OfOneStudy | 'resume' | 'trustRun' | 'output' | 'timeBudget'> {
  readonly model: string;
}

/**
 * The options of `tuneSeries`: those of `tune`, which apply to each model without a value of its
 * own. `timeBudget` is for all models together. Every series needs `models`, or a directory to
 * `resume`.
 */
export interface TuneSeriesOptions extends Omit<TuneOptions, OfOneStudy> {
  /** The models in the order of their turns: a name, or a name with options. */
  readonly models?: readonly (string | SeriesModel)[];
  /** The name of a built-in sampler, or the path of a module that exports one. */
  readonly sampler?: string;
}

/** The last event: the summary of all models, and the directory that holds it. */
export interface SeriesFinished {
  readonly type: 'series-finished';
  readonly directory: string;
  readonly summary: SeriesSummary;
}

/**
 * Events of a series, as `--ui json` prints them: those of each study with the name of its model,
 * and the end.
 */
export type SeriesEvent = (TuneEvent & { readonly model: string }) | SeriesFinished;

/** Callbacks and the signal of a series; see `TuneWatch`. */
export interface TuneSeriesWatch extends Omit<TuneWatch, 'onEvent'> {
  readonly onEvent?: (event: SeriesEvent) => void;
}

/**
 * Runs `tritune tune` for several models, one after another on one server. Resolves to the summary
 * that is written to `summary.json`, also if the study of a model failed (`error` of its entry says
 * why) or the signal was aborted. Errors: a TrituneError for what can be known before the first
 * model is changed, such as USAGE, SERVER_UNREACHABLE or MODEL_UNKNOWN.
 */
export async function tuneSeries(
  options: TuneSeriesOptions,
  { onEvent, onNote, signal = new AbortController().signal }: TuneSeriesWatch = {},
): Promise<SeriesSummary> {
  const tell = (line: string): void => onNote?.(line);
  const series = await opened(options, tell);
  const faults: unknown[] = [];
  const pass = (event: SeriesEvent): void => {
    try {
      onEvent?.(event);
    } catch (fault) {
      faults.push(fault);
    }
  };
  let summary: SeriesSummary | null = null;
  const watch = {
    tell,
    onTurn: async ({ model }: { readonly model: string }) => ({
      tell,
      onEvent: (event: TuneEvent) => pass({ ...event, model }),
      onEnd: (run: Omit<Extract<TuneEvent, { type: 'documents-written' }>, 'type'>) =>
        pass({ type: 'documents-written', ...run, model }),
    }),
    onTurnDone: () => Promise.resolve(),
    onTurnFailed: () => undefined,
    onEnd: (end: SeriesSummary) => {
      summary = end;
      pass({ type: 'series-finished', directory: series.directory, summary: end });
    },
  };
  try {
    await tuneTurns(series, watch, signal);
  } finally {
    await series.close();
  }
  if (faults.length > 0) throw faults[0];
  if (summary === null) throw new TrituneError('INTERNAL', 'the series ended without a summary', 'please report it');
  return summary;
}

async function opened(
  { models = [], timeBudget, ...shared }: TuneSeriesOptions,
  tell: (line: string) => void,
): Promise<OpenSeries> {
  const wallMs = realClock.wallMs();
  if (shared.resume === undefined) {
    const spec = seriesIn(models, timeBudget, await withStudyProtocol(shared));
    return newSeries(spec, [], wallMs);
  }
  if (models.length > 0) throw new TrituneError('USAGE', 'a resumed series has its models', 'leave out models');
  if (!(await isSeries(shared.resume)))
    throw new TrituneError('USAGE', `${shared.resume} holds no series`, 'continue a single study with tune()');
  const { options, named } = checkOptions(shared, 'tuneSeries()');
  const change = (kept: StudySpec): StudySpec => resumedSpec(kept, options, named);
  const trust = resumeTrust(options, shared.trustRun, { tell, advice: 'pass trustRun: true' });
  return resumeSeries(shared.resume, change, trust, timeBudget, wallMs);
}

/** Returns the spec of a new series. Errors: USAGE. */
function seriesIn(
  models: readonly (string | SeriesModel)[],
  timeBudget: number | undefined,
  { output, ...shared }: Omit<TuneSeriesOptions, 'models' | 'timeBudget'>,
): SeriesSpec {
  const all = models.map((each) => (typeof each === 'string' ? { model: each } : each));
  const names = all.map(({ model }) => model);
  if (names.length === 0 || names.some((name) => !name))
    throw new TrituneError('USAGE', 'the models are missing', 'give their names as models');
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new TrituneError('USAGE', `models has '${twice}' twice`, 'name each model once');
  const studies = all.map((each) => toSpec(checkOptions({ ...shared, ...each }, 'tuneSeries()').options));
  const [first, ...others] = studies;
  if (others.some(({ server }) => !isDeepStrictEqual(server, first?.server)))
    throw new TrituneError(
      'USAGE',
      'the models of a series have one server',
      'give the options of the server for all models',
    );
  checkSeriesStudies(studies);
  return checkSeriesSpec({ studies, timeBudgetSeconds: timeBudget, output }, 'the series');
}
