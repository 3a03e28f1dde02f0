import type { Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Goal, TrialFailure } from '#study/types.ts';
import { goalOf, measured, originalConfig, studyStarted } from './builders.ts';

/** What these studies search. */
export const space = {
  name: 'knobs',
  parameters: {
    instances: [1, 2, 4],
    max_batch_size: [4, 8, 16],
    dynamic_batching: ['off', 'on'],
    queue_delay_us: { values: [0, 2000], when: { dynamic_batching: 'on' } },
    threads: { path: 'parameters.threads.string_value', values: ['2'] },
  },
};

/**
 * The candidate of the assignment on the original config of the builders: one instance, batches of
 * 4, no batcher.
 */
export function candidate(assignment: Assignment): Candidate {
  const outcome = buildCandidate(spaceFromJson(space), toOriginal(originalConfig), assignment);
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
}

/**
 * What one instance group did in a second: mean milliseconds of a request, and how its executions
 * were.
 */
export interface Served {
  readonly level: number;
  readonly throughput: number;
  readonly queueMs: number;
  readonly computeMs: number;
  readonly outsideMs: number;
  readonly p99Ms: number;
  readonly batch?: number;
  readonly executionMs?: number;
}

const cache = { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 };

/** The measurement that a server with statistics would give. */
export function served(of: Served, more: Partial<Measurement> = {}): Measurement {
  const { level, throughput, queueMs, computeMs, outsideMs, p99Ms, batch = 1, executionMs = computeMs } = of;
  const avg = queueMs + computeMs + outsideMs;
  const base = measured(level, throughput, p99Ms);
  const executions = throughput / batch;
  const server: ServerBreakdown = {
    queueUs: queueMs * 1e3,
    computeInputUs: computeMs * 100,
    computeInferUs: computeMs * 800,
    computeOutputUs: computeMs * 100,
    overheadUs: 0,
    requestUs: (queueMs + computeMs) * 1e3,
    successCount: throughput,
    inferenceCount: throughput,
    executionCount: executions,
    failCount: 0,
    cache,
    batches: [{ size: batch, executions, meanExecutionUs: executionMs * 1e3 }],
  };
  return { ...base, durationMs: 1000, requests: throughput, latencyMs: { ...base.latencyMs, avg }, server, ...more };
}

export interface Tried {
  readonly assignment: Assignment;
  readonly measurements: readonly Measurement[];
  readonly chosen?: number | null;
  readonly feasible?: boolean;
  readonly failure?: TrialFailure;
}

const at = '2026-01-01T00:00:01.000Z';

/** A study that tried these, the original first unless it was left out. */
export function studyOf(
  tried: readonly Tried[],
  {
    goal = goalOf(50),
    started = {},
    ending = [],
  }: { readonly goal?: Goal; readonly started?: Partial<StudyStarted>; readonly ending?: readonly StudyRecord[] } = {},
): StudyState {
  const trials = tried.flatMap(({ assignment, measurements, failure = null, ...standing }, trial): StudyRecord[] => [
    {
      type: 'trial-started',
      at,
      trial,
      role: Object.keys(assignment).length === 0 ? 'baseline' : 'search',
      candidate: candidate(assignment),
    },
    ...measurements.map((measurement) => ({ type: 'trial-measured', at, trial, measurement }) as const),
    { type: 'trial-finished', at, trial, chosen: 0, feasible: true, ...standing, failure },
  ]);
  return foldStudy([studyStarted(goal, { space, ...started }), ...trials, ...ending]);
}
