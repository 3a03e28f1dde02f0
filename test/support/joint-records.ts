import type { FrontMeasurement, Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { jointOriginal } from '#space/joint/joint-space.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Goal } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { goalOf, measured, studyStarted } from '../study/builders.ts';

const at = '2026-01-01T00:00:01.000Z';

/**
 * What a server tells of a stage: times of one request in milliseconds, and how many there were in
 * the 1.5 s of `measured`.
 */
export function breakdown(queueMs: number, computeMs: number, requests = 1000, batch = 2): ServerBreakdown {
  const [queueUs, computeInferUs] = [queueMs * 1e3, computeMs * 1e3];
  const executions = Math.round(requests / batch);
  return {
    queueUs,
    computeInputUs: 0,
    computeInferUs,
    computeOutputUs: 0,
    overheadUs: 0,
    requestUs: queueUs + computeInferUs,
    successCount: requests,
    inferenceCount: requests,
    executionCount: executions,
    failCount: 0,
    cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
    batches: [{ size: batch, executions, meanExecutionUs: computeInferUs }],
  };
}

const config = (name: string, count: number): ModelConfig => ({
  name,
  backend: 'python',
  max_batch_size: 8,
  instance_group: [{ kind: 'KIND_CPU', count }],
});

/** A candidate of models with so many instances. */
export function jointly(instances: Readonly<Record<string, number>>, front: string): Candidate {
  const entries = Object.entries(instances);
  const original = jointOriginal(Object.fromEntries(entries.map(([name, n]) => [name, config(name, n)])), {}, front);
  return { ...original, assignment: Object.fromEntries(entries.map(([name, n]) => [`${name}/instances`, n])) };
}

export const pipeline: Topology = {
  fronts: [{ model: 'judge', steps: [{ stage: 'tokenizer' }, { stage: 'encoder' }] }],
  stages: ['tokenizer', 'encoder'],
};

/** An ensemble whose encoder is busy nearly all the time with one instance. */
export const pipelineMeasured = (level: number, throughput: number, latencyMs: number): Measurement =>
  measured(level, throughput, latencyMs, {
    server: { ...breakdown(0, latencyMs - 1), batches: [] },
    composing: [
      { model: 'tokenizer', version: '1', ...breakdown(0.2, 0.8) },
      { model: 'encoder', version: '1', ...breakdown(latencyMs - 4.8, 2.8) },
    ],
  });

export const tenants: Topology = {
  fronts: [
    { model: 'a', steps: [{ stage: 'a' }], share: 3 },
    { model: 'b', steps: [{ stage: 'b' }], requestsPerSecond: 40 },
  ],
  stages: ['a', 'b'],
};

/** Two models, `b` at 40 requests a second beside `a`. */
export function tenantsMeasured(level: number, throughput: number, latencyMs: number): Measurement {
  const front = (model: string, value: number, ms: number, own: Partial<FrontMeasurement> = {}): FrontMeasurement => {
    const { server: _, ...seen } = measured(level, value, ms);
    const { latencyMs: latency, budgetLatencyMs, stable, durationMs, requests, sendRate, failures, errorRate } = seen;
    const { level: at, throughput: rate } = seen;
    return {
      model,
      level: at,
      throughput: rate,
      latencyMs: latency,
      budgetLatencyMs,
      stable,
      durationMs,
      requests,
      sendRate,
      failures,
      errorRate,
      server: breakdown(ms / 4, ms / 2),
      ...own,
    };
  };
  const rate = { mode: 'request-rate', value: 40 } as const;
  return measured(level, throughput, latencyMs, {
    fronts: [
      front('a', throughput - 40, latencyMs),
      front('b', 40, 2 * latencyMs, { level: rate, requests: 60, server: breakdown(1, 4, 60, 1) }),
    ],
  });
}

/** The records of an original and a trial with twice the instances, that is twice as fast. */
export function jointRecords(
  topology: Topology,
  measure: (level: number, throughput: number, latencyMs: number) => Measurement,
  goal: Goal = goalOf(20),
): readonly StudyRecord[] {
  const front = topology.fronts[0]?.model as string;
  const candidates = [1, 2].map((n) => jointly(Object.fromEntries(topology.stages.map((stage) => [stage, n])), front));
  const [original] = candidates as [Candidate, Candidate];
  const member = { name: 'instances', parameters: { instances: [1, 2] } };
  const space = { members: Object.fromEntries(topology.stages.map((stage) => [stage, member])) };
  return [
    studyStarted(goal, { model: front, topology, space, original: { ...original, assignment: {} } }),
    ...candidates.flatMap((candidate, number): StudyRecord[] => [
      {
        type: 'trial-started',
        at,
        trial: number,
        role: number === 0 ? 'baseline' : 'search',
        candidate: number === 0 ? { ...candidate, assignment: {} } : candidate,
      },
      { type: 'trial-measured', at, trial: number, measurement: measure(8, 300 * (number + 1), 12 / (number + 1)) },
      { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
    ]),
  ];
}
