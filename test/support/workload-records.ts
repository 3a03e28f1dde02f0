import type { Measurement } from '#profiler/measurement.ts';
import { robustMeasurement } from '#profiler/workloads/robust-measurement.ts';
import type { StartedWorkloads, StudyRecord } from '#study/records/records.ts';
import type { Goal } from '#study/types.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

const at = '2026-01-01T00:00:01.000Z';

const startedWith = (rule: string): StartedWorkloads => ({
  rule,
  of: [
    { name: 'steady', file: 'steady.yaml', weight: 3, perLevel: 1, passSeconds: 20, digest: 'a' },
    { name: 'burst', file: 'burst.yaml', weight: 1, perLevel: 0.5, passSeconds: 30, digest: 'b' },
  ],
});

/**
 * The figures at a level under two workloads, of which the second has half of the requests, and
 * latencies of its own.
 */
function measuredUnder(rule: string, level: number, steadyMs: number, burstMs: number): Measurement {
  const parts = startedWith(rule).of.map(({ name, weight, perLevel }, index) => ({
    ...measured(0, level * perLevel, index === 0 ? steadyMs : burstMs, {
      level: { mode: 'request-rate', value: level * perLevel },
      goodput: { value: level * perLevel * 0.9, low: level * perLevel * 0.85, high: level * perLevel * 0.95 },
    }),
    workload: name,
    weight,
  }));
  return robustMeasurement(parseRobustRule(rule), { mode: 'request-rate', value: level }, parts);
}

/** A study over two workloads: the original is late in bursts, trial 1 is not. */
export const workloadRecords = (rule = 'worst', goal: Goal = goalOf(56)): StudyRecord[] => [
  studyStarted(goal, { levels: { mode: 'request-rate', low: 50, high: 800 }, workloads: startedWith(rule) }),
  { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
  { type: 'trial-measured', at, trial: 0, measurement: measuredUnder(rule, 100, 20, 90) },
  { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: false, failure: null },
  { type: 'trial-started', at, trial: 1, role: 'search', candidate: toCandidate(configOf(3, 8), { instances: 3 }) },
  { type: 'trial-measured', at, trial: 1, measurement: measuredUnder(rule, 200, 30, 50) },
  { type: 'trial-finished', at, trial: 1, chosen: 0, feasible: true, failure: null },
  { type: 'model-restored', at, how: 'config', verified: true, detail: 'put back' },
  { type: 'study-finished', at, stopReason: 'the limit of 1 trials', interrupted: false, wallSeconds: 12 },
];
