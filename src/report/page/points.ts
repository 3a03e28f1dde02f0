import { formatMs, formatRate } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { representative } from '#study/final/final.ts';
import { isFeasible } from '#study/goal/goal.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeLevel } from '#study/summary/describe.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';

/** A measurement of the study that served something, and its place on the page. */
export interface PagePoint {
  readonly trial: Trial;
  readonly measurement: Measurement;
  /** The id of its row. */
  readonly id: string;
  readonly label: string;
  readonly standing: 'best' | 'original' | 'front' | 'within' | 'missed';
}

/**
 * Returns one point for each measurement of the trials, and those of the final that represent the
 * best and the original.
 */
export function pagePoints(state: StudyState): readonly PagePoint[] {
  const best = state.best && representative(state, state.best)?.measurement;
  const original = state.baseline && representative(state, state.baseline)?.measurement;
  const front = new Set(state.front.map(({ measurement }) => measurement));
  return state.trials.flatMap((trial) =>
    listMeasurements(state, trial)
      .filter(({ measurement }) => measurement.throughput.value > 0)
      .map(({ measurement, id }) => ({
        trial,
        measurement,
        id,
        label: formatLabel(trial, measurement),
        standing:
          measurement === best
            ? 'best'
            : measurement === original
              ? 'original'
              : front.has(measurement)
                ? 'front'
                : isFeasible(measurement, trial.candidate, state.goal)
                  ? 'within'
                  : 'missed',
      })),
  );
}

/**
 * Returns a trial's measurements in order, with the id of each one's row. The measurement of the
 * final that represents the trial comes last.
 */
export function listMeasurements(
  state: StudyState,
  trial: Trial,
): readonly { readonly measurement: Measurement; readonly id: string; readonly isFinal: boolean }[] {
  const stands = representative(state, trial)?.measurement;
  const points = trial.measurements.map((measurement, index) => ({
    measurement,
    id: `m-${trial.number}-${index}`,
    isFinal: false,
  }));
  if (!stands || trial.measurements.includes(stands)) return points;
  return [...points, { measurement: stands, id: `m-${trial.number}-final`, isFinal: true }];
}

function formatLabel({ number }: Trial, measurement: Measurement): string {
  const { level, throughput, budgetLatencyMs } = measurement;
  const latency = `p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`;
  return `Trial ${number} at ${describeLevel(level)}: ${formatRate(throughput.value, chooseRateUnit(measurement))}, ${latency}`;
}

/**
 * Returns the trials that deserve a line in a chart: the best, the original, those on the front,
 * then by standing.
 */
export function listLines(state: StudyState, most: number): readonly Trial[] {
  const measured = state.trials.filter((trial) => trial.failure === null && trial.measurements.length > 0);
  const onFront = new Set(state.front.map(({ trial }) => trial));
  const rank = (trial: Trial): number =>
    trial === state.best ? 0 : trial === state.baseline ? 1 : onFront.has(trial) ? 2 : trial.feasible ? 3 : 4;
  const throughput = (trial: Trial): number => trial.measurements[trial.chosen ?? 0]?.throughput.value ?? 0;
  return [...measured].sort((a, b) => rank(a) - rank(b) || throughput(b) - throughput(a)).slice(0, most);
}

/** `trial 7, best`. */
export function trialName(state: StudyState, trial: Trial): string {
  const also = [...(trial === state.best ? ['best'] : []), ...(trial === state.baseline ? ['original'] : [])];
  return [`trial ${trial.number}`, ...also].join(', ');
}
