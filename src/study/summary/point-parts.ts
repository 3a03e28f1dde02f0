import type { ClassFigures, Measurement, WorkloadMeasurement } from '#profiler/measurement.ts';
import { findGoodput } from '#profiler/windows/class-figures.ts';
import type { Topology } from '#space/topology.ts';
import type { CandidateShape } from '#space/types.ts';
import { stageSplits } from '../analysis/stages.ts';
import { findPart } from '../goal/metrics/of-model.ts';
import type { ClassPoint, FrontPoint, StagePoint, WorkloadPoint } from './parts-schema.ts';
import type { PointParts, SummaryPoint } from './point-schema.ts';
import { chooseRateUnit } from './rate-unit.ts';

/** A figure of the summary; null if it is not finite. */
type Figure = number | null;

/** A value with null for numbers that are not finite. */
type WithNulls<T> = T extends number ? Figure : T extends string ? T : { readonly [K in keyof T]: WithNulls<T[K]> };

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
  const goodput = findGoodput(measurement);
  return {
    ...(goodput && { goodput: withNulls(goodput) }),
    ...(classes && { classes: classes.map(classPoint) }),
    ...(!tokens && chooseRateUnit(measurement) === 'requests/s' && { rateUnit: 'requests/s' }),
    ...(topology ? partsByModel(measurement, topology, shape) : tokens && { tokens: withNulls(tokens) }),
  };
}

function partsByModel(
  measurement: Measurement,
  topology: Topology,
  shape: Pick<CandidateShape, 'members'>,
): Pick<PointParts, 'fronts' | 'stages'> {
  const fronts = (measurement.fronts ?? []).flatMap(({ model }) => {
    const part = findPart(measurement, model);
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

function classPoint({ budgetLatencyMs, ...figures }: ClassFigures): ClassPoint {
  return { ...withNulls(figures), ...(budgetLatencyMs && { budgetLatencyMs: percentileFigures(budgetLatencyMs) }) };
}

/** Returns the figures at a percentile, with null for those that are not finite. */
export const percentileFigures = ({
  percentile,
  ...interval
}: Measurement['budgetLatencyMs']): SummaryPoint['budgetLatencyMs'] => ({ percentile, ...withNulls(interval) });

/** Returns the value with null for numbers that are not finite. */
export function withNulls<T>(value: T): WithNulls<T> {
  if (typeof value === 'number') return figure(value) as WithNulls<T>;
  if (typeof value !== 'object' || value === null) return value as WithNulls<T>;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withNulls(each)])) as WithNulls<T>;
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
