import type { LoadLevel } from '../../loadgen/types.ts';
import type { ClassFigures, Measurement, WorkloadMeasurement } from '../../profiler/measurement.ts';
import type { TokenFigures } from '../../profiler/token-figures.ts';
import { goodputOf } from '../../profiler/windows/class-figures.ts';
import type { Topology } from '../../space/topology.ts';
import type { CandidateShape } from '../../space/types.ts';
import type { Interval } from '../../stats/interval.ts';
import { stageSplits } from '../analysis/stages.ts';
import { partOf } from '../goal/metrics/of-model.ts';
import { rateUnitOf } from './rate-unit.ts';

/** A figure of the summary; null if it is not finite. */
type Figure = number | null;

/** The figures of one of several models as its clients saw them. */
export interface FrontPoint {
  readonly load: LoadLevel;
  /** infer/s. */
  readonly throughput: Figure;
  readonly latencyMs: { readonly [percentile in 'avg' | 'p50' | 'p90' | 'p95' | 'p99']: Figure };
  /** The budgeted percentile. */
  readonly budgetLatencyMs: Figure;
  readonly errorRate: Figure;
}

/**
 * Where the time of a request to one model went, by the server's own statistics; means in
 * milliseconds.
 */
export interface StagePoint {
  /** Requests to it per client request. */
  readonly timesPerRequest: Figure;
  readonly queueMs: Figure;
  readonly computeMs: Figure;
  /** Time that a BLS model waited for the models that it calls. */
  readonly callsMs: Figure;
  readonly meanBatch: Figure;
  readonly instances: Figure;
  /** Busy instances over all instances, 0 to 1. */
  readonly busy: Figure;
}

/** A value with null for numbers that are not finite. */
type Told<T> = T extends number ? Figure : T extends string ? T : { readonly [K in keyof T]: Told<T[K]> };

/** The times and rates of a language model's tokens, as measured. */
export type TokenPoint = Told<TokenFigures>;

/** The figures of the requests of one class, as measured. */
export type ClassPoint = Told<ClassFigures>;

/** The figures under one of several workloads, at its own rate. */
export interface WorkloadPoint extends FrontPoint {
  /** Requests per second within all limits; absent without limits. */
  readonly goodput?: Figure;
  /**
   * True if the rule of the study takes its figure: of the budgeted percentile, or of the first
   * objective.
   */
  readonly decides: boolean;
}

/**
 * The parts of a point: by model, absent for a single model; tokens, absent except for language
 * models; goodput, absent without limits; by request class, absent without classes; and by
 * workload, absent unless a study has several.
 */
export interface PointParts {
  readonly goodput?: Told<Interval>;
  readonly classes?: readonly ClassPoint[];
  readonly workloads?: { readonly [workload: string]: WorkloadPoint };
  readonly tokens?: TokenPoint;
  /** Unit of the throughput over plain HTTP. */
  readonly rateUnit?: 'requests/s';
  readonly fronts?: { readonly [model: string]: FrontPoint };
  readonly stages?: { readonly [model: string]: StagePoint };
}

const figure = (value: number | null): Figure => (value !== null && Number.isFinite(value) ? value : null);

/**
 * Returns the parts next to the total figures; for several models also where the time went in each
 * stage.
 */
export function partsOfPoint(
  measurement: Measurement,
  topology: Topology | undefined,
  shape: Pick<CandidateShape, 'members'>,
): PointParts {
  const { tokens, classes } = measurement;
  const goodput = goodputOf(measurement);
  return {
    ...(goodput && { goodput: told(goodput) }),
    ...(classes && { classes: classes.map(told) }),
    ...(!tokens && rateUnitOf(measurement) === 'requests/s' && { rateUnit: 'requests/s' }),
    ...(topology ? partsByModel(measurement, topology, shape) : tokens && { tokens: told(tokens) }),
  };
}

function partsByModel(
  measurement: Measurement,
  topology: Topology,
  shape: Pick<CandidateShape, 'members'>,
): Pick<PointParts, 'fronts' | 'stages'> {
  const fronts = (measurement.fronts ?? []).flatMap(({ model }) => {
    const part = partOf(measurement, model);
    return part ? [[model, frontPoint(part)] as const] : [];
  });
  const stages = stageSplits(measurement, topology, shape).map(({ model, batchSize, ...split }) => {
    const { timesPerRequest, queueMs, computeMs, callsMs, instances, busy } = split;
    const point: StagePoint = {
      timesPerRequest: figure(timesPerRequest),
      queueMs: figure(queueMs),
      computeMs: figure(computeMs),
      callsMs: figure(callsMs),
      meanBatch: figure(batchSize),
      instances: figure(instances),
      busy: figure(busy),
    };
    return [model, point] as const;
  });
  return {
    ...(fronts.length > 0 && { fronts: Object.fromEntries(fronts) }),
    ...(stages.length > 0 && { stages: Object.fromEntries(stages) }),
  };
}

/**
 * Returns the figures under each of several workloads; `deciding` is the one whose figure the rule
 * takes.
 */
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

function told<T>(value: T): Told<T> {
  if (typeof value === 'number') return figure(value) as Told<T>;
  if (typeof value !== 'object' || value === null) return value as Told<T>;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, told(each)])) as Told<T>;
}

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
