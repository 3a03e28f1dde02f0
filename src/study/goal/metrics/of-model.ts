import { lookUp } from '#base/look-up.ts';
import type { FrontMeasurement, Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { countedMs } from '#profiler/stage-breakdowns.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';
import type { Metric } from './metric.ts';

const US_PER_MS = 1e3;
const MS_PER_S = 1e3;

/** A metric's name, and the model that it is of; the model is absent for the total. */
export interface MetricName {
  readonly base: string;
  readonly model?: string;
}

/**
 * Returns the parts of `METRIC@MODEL` or `METRIC`. A model may be named almost anything: the first
 * @ divides.
 */
export function partsOfName(name: string): MetricName {
  const at = name.indexOf('@');
  return at < 0 ? { base: name } : { base: name.slice(0, at), model: name.slice(at + 1) };
}

/** Returns the name of a model's own metric. */
export const nameOfModel = (base: string, model: string): string => `${base}@${model}`;

/**
 * Returns the metric of one model among several: as its own clients see it, if it has some; for a
 * model inside a pipeline as the server reports it. Its columns are named like those of the metric,
 * with `@MODEL`.
 */
export function metricOfModel(metric: Metric, model: string): Metric {
  const { interval, columns } = metric;
  const createModelReader =
    <T>(read: (part: Measurement, candidate: Candidate) => T | undefined) =>
    (measurement: Measurement, candidate: Candidate): T | undefined => {
      const part = findPart(measurement, model);
      return part && read(part, ownCandidate(candidate, model));
    };
  return {
    ...metric,
    name: nameOfModel(metric.name, model),
    label: `${model} ${metric.label}`,
    description: `${metric.description}, of ${model}`,
    interval: interval && {
      ...interval,
      of: (measurement, candidate) =>
        interval.of(findPart(measurement, model) ?? measurement, ownCandidate(candidate, model)),
    },
    read: createModelReader((part, candidate) => metric.read(part, candidate)),
    ...(columns && {
      columns: columns.map((column) => ({
        name: nameOfModel(column.name, model),
        read: createModelReader((part, candidate) => column.read(part, candidate)),
      })),
    }),
  };
}

/**
 * Returns one model's part of a measurement: a front's own figures, or for a stage behind a front
 * the server's figures: its mean time as latency, without percentiles. A model that is neither is
 * the only front: the whole is its own. undefined if the server reported nothing.
 */
export function findPart(measurement: Measurement, model: string): Measurement | undefined {
  const { fronts, composing = [], ...whole } = measurement;
  const front = fronts?.find((each) => each.model === model);
  if (front) return findFront(whole, front);
  const stage = [...composing, ...(fronts ?? []).flatMap((each) => each.composing ?? [])].findLast(
    (each) => each.model === model,
  );
  if (stage) return findStage({ ...whole, durationMs: countedMs(measurement, model) }, stage);
  return fronts ? undefined : measurement;
}

const findFront = (
  { openLoop: _, composing: __, ...whole }: Measurement,
  { model: ___, ...figures }: FrontMeasurement,
): Measurement => ({
  ...whole,
  ...figures,
});

function findStage({ openLoop: _, ...whole }: Measurement, server: ServerBreakdown): Measurement {
  const meanMs = server.requestUs / US_PER_MS;
  const unknown = Number.NaN;
  const requests = server.successCount + server.failCount;
  const rate = (count: number): number => (whole.durationMs > 0 ? (count / whole.durationMs) * MS_PER_S : 0);
  return {
    ...whole,
    throughput: exactly(rate(server.inferenceCount)),
    latencyMs: {
      avg: meanMs,
      p50: unknown,
      p90: unknown,
      p95: unknown,
      p99: unknown,
      max: unknown,
      min: unknown,
      std: unknown,
    },
    budgetLatencyMs: { percentile: whole.budgetLatencyMs.percentile, ...exactly(meanMs) },
    requests,
    sendRate: rate(requests),
    failures: [],
    errorRate: requests === 0 ? 0 : server.failCount / requests,
    server,
  };
}

const exactly = (value: number): Interval => ({ value, low: value, high: value });

/** Returns the candidate as one of its models sees it. */
function ownCandidate(candidate: Candidate, model: string): Candidate {
  const shape = lookUp(candidate.shape.members, model);
  return shape ? { ...candidate, shape } : candidate;
}
