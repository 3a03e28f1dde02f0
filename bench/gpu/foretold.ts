import { observationsOf } from '../../src/perfmodel/observations.ts';
import { csvText } from '../../src/report/csv.ts';
import { describeAssignment, describeLevel } from '../../src/study/describe.ts';
import { forecaster } from '../../src/study/fitted-prediction.ts';
import type { StudyState } from '../../src/study/state.ts';
import { drawOf } from '../../src/study/what-if/draw.ts';

/**
 * How the queueing model is asked about a trial that it does not know: `held-out`, from all others, or `ahead`, from those before it, once
 * six measurements were made.
 */
type Way = 'held-out' | 'ahead';
const FIRST: Readonly<Record<Way, number>> = { 'held-out': 1, ahead: 6 };

export interface Figure {
  readonly measured: number;
  readonly told: number;
}

/** One measured point, and what the model said of it. */
export interface Foretold {
  readonly trial: number;
  readonly config: string;
  readonly level: string;
  /** In inferences per second. */
  readonly throughput: Figure;
  /** Of the budget's percentile. */
  readonly latencyMs: Figure;
}

export type Told = Readonly<Record<Way, readonly Foretold[]>>;

export const toldOf = (state: StudyState): Told => ({
  'held-out': foretoldOf(state, 'held-out'),
  ahead: foretoldOf(state, 'ahead'),
});

/** Every measured point but those that the model says nothing of, or that were disturbed. */
function foretoldOf({ trials }: StudyState, way: Way): Foretold[] {
  return trials.flatMap((target) => {
    const others = trials.filter(({ number }) => (way === 'ahead' ? number < target.number : number !== target.number));
    if (others.flatMap(observationsOf).length < FIRST[way]) return [];
    const forecast = forecaster(others);
    return target.measurements.flatMap((measurement): Foretold[] => {
      const { level, throughput, budgetLatencyMs } = measurement;
      if (observationsOf({ ...target, measurements: [measurement] }).length === 0) return [];
      const told = forecast(target.candidate.config, level, drawOf(budgetLatencyMs.percentile));
      if (!told) return [];
      return [
        {
          trial: target.number,
          config: describeAssignment(target.candidate.assignment),
          level: describeLevel(level),
          throughput: { measured: throughput.value, told: told.throughput },
          latencyMs: { measured: budgetLatencyMs.value, told: told.budgetLatencyMs.value },
        },
      ];
    });
  });
}

/** Every point of every study, once for each way. */
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
