import { findLaw } from '#perfmodel/laws.ts';
import { listObservations } from '#perfmodel/observations.ts';
import { createPredictor } from '#perfmodel/predictor.ts';
import { csvText } from '#report/csv.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment, describeLevel } from '#study/summary/describe.ts';
import { reportDraw } from '#study/summary/prediction.ts';

/**
 * How the queueing model is asked about a trial that it does not know: `held-out`, from all others,
 * or `ahead`, from those before it, once six measurements were made.
 */
type Way = 'held-out' | 'ahead';
const FIRST: Readonly<Record<Way, number>> = { 'held-out': 1, ahead: 6 };

export interface Figure {
  readonly measured: number;
  readonly told: number;
}

/** One measured point, and the model's prediction. */
export interface HeldOut {
  readonly trial: number;
  readonly config: string;
  readonly level: string;
  /** In inferences per second. */
  readonly throughput: Figure;
  /** The latency at the budget's percentile. */
  readonly latencyMs: Figure;
}

export type Told = Readonly<Record<Way, readonly HeldOut[]>>;

export const toldOf = (state: StudyState): Told => ({
  'held-out': heldOutOf(state, 'held-out'),
  ahead: heldOutOf(state, 'ahead'),
});

/** Returns every measured point, except disturbed ones and those without a prediction. */
function heldOutOf({ trials }: StudyState, way: Way): HeldOut[] {
  return trials.flatMap((target) => {
    const others = trials.filter(({ number }) => (way === 'ahead' ? number < target.number : number !== target.number));
    if (others.flatMap(listObservations).length < FIRST[way]) return [];
    return target.measurements.flatMap((measurement): HeldOut[] => {
      const { level, throughput, budgetLatencyMs } = measurement;
      if (listObservations({ ...target, measurements: [measurement] }).length === 0) return [];
      const law = findLaw(undefined, target.candidate.shape);
      const draw = reportDraw(budgetLatencyMs.percentile, law.requests.many);
      const told = createPredictor(law, others, draw, [target.candidate])?.predict(target.candidate, level);
      if (!told) return [];
      return [
        {
          trial: target.number,
          config: describeAssignment(target.candidate.assignment),
          level: describeLevel(level),
          throughput: { measured: throughput.value, told: told.throughput.value },
          latencyMs: { measured: budgetLatencyMs.value, told: told.budgetLatency.value },
        },
      ];
    });
  });
}

/** Returns every point of every study, once for each way. */
export function predictionCsv(studies: readonly { readonly name: string; readonly told: Told }[]): string {
  const rows = studies.flatMap(({ name, told: byWay }) =>
    Object.entries(byWay).flatMap(([way, points]) =>
      points.map(({ trial, config, level, throughput, latencyMs }) => [
        ...[name, way, trial, config, level],
        ...[throughput, latencyMs].flatMap(({ measured, told }) => [measured, told, told / measured - 1]),
      ]),
    ),
  );
  const figures = ['throughput', 'budget_latency_ms'].flatMap((figure) => [
    figure,
    `${figure}_told`,
    `${figure}_error`,
  ]);
  return csvText([['study', 'way', 'trial', 'config', 'level', ...figures], ...rows]);
}
