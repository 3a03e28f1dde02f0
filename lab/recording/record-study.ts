import { median as computeMedian } from 'simple-statistics';
import type { Json, JsonObject } from '../../src/base/json.ts';
import type { Measurement } from '../../src/profiler/measurement.ts';
import { toModelConfig } from '../../src/space/model-configs.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { StudyState } from '../../src/study/records/state.ts';
import { isNotServed, readingsAt } from '../../src/study/search/samplers/exhaustive.ts';
import type { Trial } from '../../src/study/types.ts';
import { compareConfigs } from '../../src/triton/config/comparison.ts';
import type { RecordedCandidate, RecordedPoint, Recording } from './recording.ts';

/** Fields of a recording that the study's journal does not have. */
export interface RecordedWith {
  readonly name: string;
  readonly machine: Recording['machine'];
  readonly options: JsonObject;
  readonly levels: readonly number[];
  readonly repeats: number;
  readonly candidates: readonly Candidate[];
  readonly complete: boolean;
}

/** Returns the recording of an exhaustive study so far; null before its first point. */
export function toRecording(
  { started, server, trials }: StudyState,
  { levels, candidates: all, ...rest }: RecordedWith,
): Recording | null {
  const known = Map.groupBy(trials, ({ candidate }) => candidate.fingerprint);
  const candidates = all.flatMap(
    (each) => recordedCandidate(each, known.get(each.fingerprint) ?? [], levels, started.original) ?? [],
  );
  if (candidates.every(({ points }) => points.length === 0)) return null;
  const { name, version, protocol, emulated } = server;
  return {
    schemaVersion: 2,
    model: started.model,
    recordedAt: started.at,
    trituneVersion: started.trituneVersion,
    server: { name, version, protocol, emulated },
    ...rest,
    levels: { mode: 'concurrency', values: [...levels] },
    originalConfig: toModelConfig(started.original) as Recording['originalConfig'],
    space: started.space,
    candidates,
  };
}

function recordedCandidate(
  candidate: Candidate,
  trials: readonly Trial[],
  levels: readonly number[],
  original: Candidate,
): RecordedCandidate | null {
  if (trials.length === 0) return null;
  const listLoads = (change: 'full' | 'in-place'): number[] =>
    trials.flatMap(({ applied }) => (applied?.change === change ? [rounded(applied.loadMs)] : []));
  const differences = compareConfigs(toModelConfig(original), toModelConfig(candidate)).map(
    ({ path, after }): [string, Json] => [path, after ?? null],
  );
  return {
    fingerprint: candidate.fingerprint,
    assignment: candidate.assignment,
    differs: Object.fromEntries(differences),
    loadsMs: { full: listLoads('full'), inPlace: listLoads('in-place') },
    failure: trials.find(isNotServed)?.failure ?? null,
    points: levels.flatMap((level) => findPoint(level, readingsAt(trials, level)) ?? []),
  };
}

function findPoint(level: number, readings: readonly Measurement[]): RecordedPoint | null {
  if (readings.length === 0) return null;
  const median = (of: (reading: Measurement) => number): number => rounded(computeMedian(readings.map(of)));
  const spread = (of: (reading: Measurement) => number): number => {
    const values = readings.map(of);
    return rounded((Math.max(...values) - Math.min(...values)) / computeMedian(values));
  };
  const rate = ({ throughput }: Measurement): number => throughput.value;
  const latency = (key: 'avg' | 'p50' | 'p90' | 'p95' | 'p99' | 'max') => median(({ latencyMs }) => latencyMs[key]);
  return {
    level,
    readings: readings.length,
    throughput: {
      value: median(rate),
      low: median(({ throughput }) => throughput.low),
      high: median(({ throughput }) => throughput.high),
      spread: spread(rate),
    },
    latencyMs: {
      avg: latency('avg'),
      p50: latency('p50'),
      p90: latency('p90'),
      p95: latency('p95'),
      p99: latency('p99'),
      max: latency('max'),
    },
    p99Spread: spread(({ latencyMs }) => latencyMs.p99),
    requests: readings.reduce((sum, { requests }) => sum + requests, 0),
    stable: readings.every(({ stable }) => stable),
    clientBound: readings.some(({ client }) => client.bound),
    errorRate: median(({ errorRate }) => errorRate),
    server: findServer(readings),
  };
}

function findServer(readings: readonly Measurement[]): RecordedPoint['server'] {
  const breakdowns = readings.flatMap(({ server }) => server ?? []);
  if (breakdowns.length === 0) return null;
  const mean = (of: (each: (typeof breakdowns)[number]) => number): number =>
    rounded(breakdowns.reduce((sum, each) => sum + of(each), 0) / breakdowns.length);
  const bySize = Map.groupBy(
    breakdowns.flatMap(({ batches }) => batches),
    ({ size }) => size,
  );
  const batches = [...bySize]
    .sort(([a], [b]) => a - b)
    .map(([size, rows]): [number, number, number] => {
      const executions = rows.reduce((sum, row) => sum + row.executions, 0);
      const totalUs = rows.reduce((sum, row) => sum + row.executions * row.meanExecutionUs, 0);
      return [size, rounded(executions / breakdowns.length), rounded(totalUs / executions)];
    });
  return {
    queueUs: mean(({ queueUs }) => queueUs),
    computeInputUs: mean(({ computeInputUs }) => computeInputUs),
    computeInferUs: mean(({ computeInferUs }) => computeInferUs),
    computeOutputUs: mean(({ computeOutputUs }) => computeOutputUs),
    overheadUs: mean(({ overheadUs }) => overheadUs),
    batches,
  };
}

const rounded = (value: number): number => Number(value.toPrecision(5));
