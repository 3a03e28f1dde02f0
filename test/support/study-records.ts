import type { Measurement } from '#profiler/measurement.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from '../study/builders.ts';

/** Seconds after a study's start, as a record has its time. */
export const atSecond = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** One reading: what a level gave. */
export interface Reading {
  readonly level: number;
  readonly throughput: number;
  readonly latencyMs: number;
}

/**
 * One finished trial. Its candidate has `number + 1` instances; it starts ten seconds after the one
 * before, and takes nine.
 */
export interface TrialSpec {
  readonly number: number;
  readonly readings: readonly Reading[];
  /** The index of the reading that stands for the trial; null for none. */
  readonly chosen: number | null;
  readonly feasible: boolean;
  /** Half the width of the throughput's interval, as a share; 0.02 when not given. */
  readonly halfWidth?: number;
  /** What all its measurements have beside their reading. */
  readonly more?: Partial<Measurement>;
}

/** Returns the records of a trial, in the order in which a run writes them. */
export function trialRecords({ number, readings, chosen, feasible, halfWidth = 0.02, more }: TrialSpec): StudyRecord[] {
  const startSecond = 10 * number;
  const measurements = readings.map(({ level, throughput, latencyMs }) => {
    const [low, high] = [throughput * (1 - halfWidth), throughput * (1 + halfWidth)];
    return measured(level, throughput, latencyMs, { throughput: { value: throughput, low, high }, ...more });
  });
  return [
    {
      type: 'trial-started',
      at: atSecond(startSecond),
      trial: number,
      role: number === 0 ? 'baseline' : 'search',
      candidate: toCandidate(configOf(number + 1, 4), { count: number + 1 }),
    },
    {
      type: 'trial-applied',
      at: atSecond(startSecond + 1),
      trial: number,
      change: number === 0 ? 'none' : 'full',
      loadMs: 900,
    },
    ...measurements.map(
      (measurement, index): StudyRecord => ({
        type: 'trial-measured',
        at: atSecond(startSecond + 2 + index),
        trial: number,
        measurement,
      }),
    ),
    { type: 'trial-finished', at: atSecond(startSecond + 9), trial: number, chosen, feasible, failure: null },
  ];
}

/** Returns the record of a measurement in the final. */
export const finalRecord = (trial: number, measurement: Measurement, round = 1): StudyRecord => ({
  type: 'final-measured',
  at: atSecond(60),
  trial,
  round,
  measurement,
});

/**
 * A study under a budget of 10 ms: the original config and two trials, of which trial 1 is the
 * best, at 300 infer/s and 9 ms.
 */
export const searchedStudy: readonly StudyRecord[] = [
  studyStarted(goalOf(10)),
  ...trialRecords({
    number: 0,
    readings: [
      { level: 1, throughput: 100, latencyMs: 5 },
      { level: 2, throughput: 150, latencyMs: 9 },
      { level: 4, throughput: 160, latencyMs: 20 },
    ],
    chosen: 1,
    feasible: true,
  }),
  ...trialRecords({
    number: 1,
    readings: [
      { level: 2, throughput: 200, latencyMs: 4 },
      { level: 4, throughput: 300, latencyMs: 9 },
      { level: 8, throughput: 400, latencyMs: 14 },
    ],
    chosen: 1,
    feasible: true,
  }),
  ...trialRecords({
    number: 2,
    readings: [
      { level: 2, throughput: 180, latencyMs: 12 },
      { level: 4, throughput: 500, latencyMs: 30 },
    ],
    chosen: 0,
    feasible: false,
  }),
];
