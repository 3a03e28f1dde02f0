import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement, WorkloadMeasurement } from '../../profiler/measurement.ts';
import type { TokenFigures } from '../../profiler/token-figures.ts';
import type { Topology } from '../../space/topology.ts';
import type { CandidateShape } from '../../space/types.ts';
import { stageSplits } from '../analysis/stages.ts';
import { partOf } from '../goal/metrics/of-model.ts';

/** A figure of the summary; null where there is no finite one. */
type Figure = number | null;

/** What clients of one of several models saw. */
export interface FrontPoint {
  readonly load: LoadLevel;
  /** infer/s. */
  readonly throughput: Figure;
  readonly latencyMs: { readonly [percentile in 'avg' | 'p50' | 'p90' | 'p95' | 'p99']: Figure };
  /** The budgeted percentile. */
  readonly budgetLatencyMs: Figure;
  readonly errorRate: Figure;
}

/** Where the time of a request to one model went, by the server's own statistics; means in milliseconds. */
export interface StagePoint {
  /** Requests to it for each of a client. */
  readonly timesPerRequest: Figure;
  readonly queueMs: Figure;
  readonly computeMs: Figure;
  /** In which a BLS model waited for those that it calls. */
  readonly callsMs: Figure;
  readonly meanBatch: Figure;
  readonly instances: Figure;
  /** Busy instances over all instances, 0 to 1. */
  readonly busy: Figure;
}

/** A value whose numbers are null where there is no finite one. */
type Told<T> = T extends number ? Figure : T extends string ? T : { readonly [K in keyof T]: Told<T[K]> };

/** The times and rates of a language model's tokens, as the measurement has them. */
export type TokenPoint = Told<TokenFigures>;

/** What was measured under one of several workloads, at its own rate. */
export interface WorkloadPoint extends FrontPoint {
  /** Requests per second within all limits; absent without limits. */
  readonly goodput?: Figure;
  /** Whether the rule of the study takes its figure: of the budgeted percentile, or of the first objective. */
  readonly decides: boolean;
}

/**
 * The parts of a point by model, absent for one model alone, those of tokens, absent for other than language models, and those by workload, absent where a
 * study has not several.
 */
export interface PointParts {
  readonly workloads?: { readonly [workload: string]: WorkloadPoint };
  readonly tokens?: TokenPoint;
  readonly fronts?: { readonly [model: string]: FrontPoint };
  readonly stages?: { readonly [model: string]: StagePoint };
}

const figure = (value: number | null): Figure => (value !== null && Number.isFinite(value) ? value : null);

/** Returns what the clients of each of several models saw, and where its time went in each stage. */
export function partsOfPoint(
  measurement: Measurement,
  topology: Topology | undefined,
  shape: Pick<CandidateShape, 'members'>,
): PointParts {
  const { tokens } = measurement;
  if (!topology) return tokens ? { tokens: told(tokens) as TokenPoint } : {};
  const fronts = (measurement.fronts ?? []).flatMap(({ model }) => {
    const part = partOf(measurement, model);
    return part ? [[model, frontPoint(part)] as const] : [];
  });
  const stages = stageSplits(measurement, topology, shape).map(({ model, batchSize, ...split }) => {
    const { timesPerRequest, queueMs, computeMs, callsMs, instances, busy } = split;
    const point: StagePoint = {
      ...{ timesPerRequest: figure(timesPerRequest), queueMs: figure(queueMs), computeMs: figure(computeMs) },
      ...{ callsMs: figure(callsMs), meanBatch: figure(batchSize), instances: figure(instances), busy: figure(busy) },
    };
    return [model, point] as const;
  });
  return {
    ...(fronts.length > 0 && { fronts: Object.fromEntries(fronts) }),
    ...(stages.length > 0 && { stages: Object.fromEntries(stages) }),
  };
}

/** Returns what was measured under each of several workloads; `deciding` is the one whose figure the rule takes. */
export function workloadPoints(
  { workloads }: Measurement,
  deciding: WorkloadMeasurement | null,
): Pick<PointParts, 'workloads'> {
  if (!workloads) return {};
  const points = workloads.map((each): [string, WorkloadPoint] => [
    each.workload,
    {
      ...frontPoint(each),
      ...(each.goodput && { goodput: figure(each.goodput.value) }),
      decides: each === deciding,
    },
  ]);
  return { workloads: Object.fromEntries(points) };
}

const told = (value: unknown): unknown => {
  if (typeof value === 'number') return figure(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, told(each)]));
};

function frontPoint({ level, throughput, latencyMs, budgetLatencyMs, errorRate }: Measurement): FrontPoint {
  const { avg, p50, p90, p95, p99 } = latencyMs;
  return {
    load: level,
    throughput: figure(throughput.value),
    latencyMs: { avg: figure(avg), p50: figure(p50), p90: figure(p90), p95: figure(p95), p99: figure(p99) },
    budgetLatencyMs: figure(budgetLatencyMs.value),
    errorRate: figure(errorRate),
  };
}
