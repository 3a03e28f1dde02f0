import type { Measurement } from '#profiler/measurement.ts';
import { toCandidate, toOriginal } from '#space/model-configs.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { Goal, Trial, TrialFailure } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

export const originalConfig: ModelConfig = {
  name: 'm',
  backend: 'python',
  max_batch_size: 4,
  instance_group: [{ kind: 'KIND_CPU', count: 1 }],
};

export const goalOf = (latencyMs: number | null, more: Partial<Goal> = {}): Goal => ({
  budget: latencyMs === null ? null : { percentile: 99, latencyMs },
  constraints: [],
  objectives: [{ metric: 'throughput', weight: 1 }],
  ...more,
});

export { toCandidate };

export const configOf = (instances: number, batch: number, more: ModelConfig = {}): ModelConfig => ({
  ...originalConfig,
  max_batch_size: batch,
  instance_group: [{ kind: 'KIND_CPU', count: instances }],
  ...more,
});

const latencies = (ms: number) => ({ avg: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms, min: ms, std: 0 });

/** A measurement whose every latency figure is `latencyMs`. */
export function measured(
  level: number,
  throughput: number,
  latencyMs: number,
  more: Partial<Measurement> = {},
): Measurement {
  const spread = (value: number) => ({ value, low: value * 0.98, high: value * 1.02 });
  return {
    level: { mode: 'concurrency', value: level },
    throughput: spread(throughput),
    latencyMs: latencies(latencyMs),
    budgetLatencyMs: { ...spread(latencyMs), percentile: 99 },
    stable: true,
    windows: 3,
    durationMs: 1500,
    requests: 1000,
    sendRate: throughput,
    failures: [],
    errorRate: 0,
    server: null,
    device: {},
    client: { cpuUsPerRequest: 20, eventLoopDelayMs: 1, bound: false },
    ...more,
  };
}

export function trialOf(number: number, config: ModelConfig, more: Partial<Trial> = {}): Trial {
  return {
    number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(config),
    measurements: [measured(1, 100, 5)],
    chosen: 0,
    feasible: true,
    failure: null,
    ...more,
  };
}

export const failedTrial = (number: number, config: ModelConfig, kind: TrialFailure['kind']): Trial =>
  trialOf(number, config, { measurements: [], chosen: null, feasible: false, failure: { kind, reason: `${kind}!` } });

export const studyStarted = (goal: Goal, more: Partial<StudyStarted> = {}): StudyStarted => ({
  type: 'study-started',
  at: '2026-01-01T00:00:00.000Z',
  schemaVersion: 2,
  adapter: 'triton',
  model: 'm',
  server: {
    name: 'triton',
    version: '2.51.0',
    url: 'localhost:8001',
    protocol: 'grpc',
    controlUrl: 'localhost:8001',
    controlProtocol: 'grpc',
    emulated: null,
  },
  original: toOriginal(originalConfig),
  wasLoaded: true,
  goal,
  levels: { mode: 'concurrency', low: 1, high: 64 },
  sampler: 'grid',
  seed: 1,
  space: {},
  spec: toSpec({ model: 'm' }),
  commandLine: ['tune', '-m', 'm'],
  trituneVersion: '0.1.0',
  ...more,
});
