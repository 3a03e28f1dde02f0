import { FINAL_ROUNDS, isFinalOver } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';
import { decidingFigures } from './deciding-figures.ts';
import type { SeriesEntry, Summary } from './summary-schema.ts';
import { isToEmit } from './verdict.ts';

/** The file of a series' summary, in its directory. */
export const SERIES_SUMMARY = 'summary.json';
/** The page of a series, in its directory. */
export const SERIES_REPORT = 'report.html';

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
export function toEntry(
  { model, directory, config }: SeriesPlace,
  summary: Summary | null,
  ending: Pick<SeriesEntry, 'exitCode' | 'error'>,
): SeriesEntry {
  const best = summary?.best ?? null;
  const short = ({ throughput, budgetLatencyMs }: NonNullable<Summary['best']>) => ({ throughput, budgetLatencyMs });
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
