import { FINAL_ROUNDS, isFinalOver } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';
import { decidingFigures } from './deciding-figures.ts';
import type { Summary, SummaryPoint } from './summary.ts';
import { isToEmit } from './verdict.ts';

/** The outcome of one model of a series. */
export interface SeriesEntry {
  readonly model: string;
  /** The folder of the model's own documents, next to this file. */
  readonly directory: string;
  /** null while nothing was measured. */
  readonly feasible: boolean | null;
  readonly gain: Summary['gain'];
  /** null before its turn. */
  readonly verdict: Summary['verdict'] | null;
  /** A short form, by the figures that decided. */
  readonly best:
    | (Pick<SummaryPoint, 'trial' | 'assignment' | 'load' | ShortFigures> & {
        /** The path of its config.pbtxt from here; null where the original config is the best. */
        readonly config: string | null;
        /** What was measured; absent where that is what decided. */
        readonly measured?: Pick<SummaryPoint, ShortFigures>;
      })
    | null;
  /** The exit code as if the model had been tuned alone; null before its turn. */
  readonly exitCode: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

type ShortFigures = 'throughput' | 'budgetLatencyMs';

/** A model of a series by what its best config serves within its limits. */
export interface RankedModel {
  readonly model: string;
  /**
   * 1 plus the number of models that surely serve more: models that cannot be distinguished share a
   * rank.
   */
  readonly rank: number;
  /** infer/s. */
  readonly throughput: SummaryPoint['throughput'];
  /** Its throughput as a share of the first one's, with a 95 % interval; null for the first. */
  readonly ofFirst: Summary['gain'];
}

/** The file of a series' summary, in its directory. */
export const SERIES_SUMMARY = 'summary.json';
/** The page of a series, in its directory. */
export const SERIES_REPORT = 'report.html';

/** The object in it. */
export interface SeriesSummary {
  readonly schemaVersion: 1;
  readonly models: readonly SeriesEntry[];
  /** Those that met their limits, by throughput. */
  readonly ranking: readonly RankedModel[];
}

/**
 * True if nothing remains to be done: the study has ended with its model restored, and its final is
 * over, or the turn is known to have ended without an error. If the original config is the best,
 * there is no final.
 */
export function isDone(state: StudyState, hasEndedWell: boolean): boolean {
  const { finished, gain, restored } = state;
  if (finished?.interrupted !== false || restored?.verified !== true) return false;
  return gain === null ? hasEndedWell : isFinalOver(state, FINAL_ROUNDS);
}

/** The place of a model's study in the series, and of the config that it emits. */
export interface SeriesPlace extends Pick<SeriesEntry, 'model' | 'directory'> {
  readonly config: string;
}

/**
 * Returns the outcome of a model: the short form of its own summary, which is null if the study has
 * not begun, and how its turn ended.
 */
export function entryOf(
  { model, directory, config }: SeriesPlace,
  summary: Summary | null,
  ending: Pick<SeriesEntry, 'exitCode' | 'error'>,
): SeriesEntry {
  const best = summary?.best ?? null;
  const short = ({ throughput, budgetLatencyMs }: SummaryPoint) => ({ throughput, budgetLatencyMs });
  return {
    model,
    directory,
    feasible: summary && best ? summary.feasible : null,
    gain: summary?.gain ?? null,
    verdict: summary?.verdict ?? null,
    best: best && {
      trial: best.trial,
      assignment: best.assignment,
      load: best.load,
      ...short(decidingFigures(best)),
      config: summary && isToEmit(summary) ? config : null,
      ...(best.compared && { measured: short(best) }),
    },
    ...ending,
  };
}
