import { type AffineFit, affineNs, fitAffine } from '../../../queueing/fit-affine.ts';
import type { ServicePoint } from '../../../queueing/observation.ts';

/** A point of the law, and how many instances its choice has, busy or not: some models are slower for those that only wait. */
export type Point = ServicePoint & { readonly instances: number };

/** What the points say of one variant with one number of instances: a line, and where they leave it. */
export interface Bend {
  readonly line: AffineFit;
  /** Of all that is known, as a logarithm. */
  correctionAt(batchSize: number): number;
  /** Of what other numbers of instances share, as a logarithm. */
  shapeAt(batchSize: number): number;
}

/** Points of other numbers of instances count less, the more doublings they are away, and never nothing. */
const INSTANCE_BANDWIDTH = 0.5;
const LEAST_WEIGHT = 0.03;
const OTHER_VARIANT_WEIGHT = 0.2;
/** So much weight of points is needed for half a correction. */
const SHRINKAGE = 0.3;

/** In doublings. */
interface Doublings {
  readonly batch: number;
  readonly instances: number;
}

/**
 * What the line does not explain, in turn, each step what the one before has left: the shape that numbers of instances share
 * (less the farther apart they are: large batches may crowd each other more), its cliffs and steps, and the same for about as
 * many instances alone.
 */
const SHAPE: Doublings = { batch: 0.5, instances: 1.5 };
const STEPS: Doublings = { batch: 0.06, instances: 1.5 };
const BANDWIDTHS = [SHAPE, STEPS, { ...SHAPE, instances: 0.6 }, { ...STEPS, instances: 0.6 }] as const;
const SHARED = 2;

/** What the line leaves of a point, as a logarithm; where the point is, seen from the law's number of instances. */
interface Residual {
  readonly log: number;
  readonly at: Doublings;
  readonly weight: number;
}

/**
 * One line is bent by the interference of many instances, so that few of them look slow, when all points count alike:
 * instead the line for each number of instances leans on the points with about as many. What a line leaves of a point is
 * seen from the line of the point's own number: else all that many instances take longer is of the batch sizes that
 * these happened to be measured with.
 */
export function bendOf(points: readonly Point[], variant: string, instances: number): Bend {
  const lineFor = linesOf(points, variant);
  const line = lineFor(instances);
  const residuals = points.map(
    (point): Residual => ({
      log: Math.log(point.executionNs / affineNs(lineFor(point.instances), point)),
      at: { batch: Math.log2(point.batchSize), instances: Math.log2(point.instances / instances) },
      weight: weightFor(variant, point),
    }),
  );
  const corrections = correctionsOf(residuals);
  const sumAt = (batchSize: number, some: typeof corrections): number =>
    some.reduce((sum, correction) => sum + correction(Math.log2(batchSize)), 0);
  return {
    line,
    correctionAt: (batchSize) => sumAt(batchSize, corrections),
    shapeAt: (batchSize) => sumAt(batchSize, corrections.slice(0, SHARED)),
  };
}

const weightFor = (variant: string, point: Point): number =>
  point.weight * (point.variant === variant ? 1 : OTHER_VARIANT_WEIGHT);

const lines = new WeakMap<readonly Point[], Map<string, AffineFit>>();

/** By the number of instances; each line is found once for these very points. */
function linesOf(points: readonly Point[], variant: string): (instances: number) => AffineFit {
  const known = lines.get(points) ?? new Map<string, AffineFit>();
  lines.set(points, known);
  return (instances) => {
    const key = `${instances} ${variant}`;
    const line = known.get(key) ?? lineOf(points, variant, instances);
    known.set(key, line);
    return line;
  };
}

function lineOf(points: readonly Point[], variant: string, instances: number): AffineFit {
  return fitAffine(
    points.map((point) => {
      const away = Math.log2(point.instances / instances);
      const nearness = Math.exp(-((away / INSTANCE_BANDWIDTH) ** 2) / 2);
      const weight = weightFor(variant, point);
      // More instances may make an execution slower, but hardly faster.
      const leastWeight = away < 0 ? weight : 0;
      return { ...point, leastWeight, weight: weight * Math.max(LEAST_WEIGHT, nearness) };
    }),
  );
}

/** By the doublings of the batch. */
function correctionsOf(residuals: readonly Residual[]): ((batch: number) => number)[] {
  let left = residuals;
  return BANDWIDTHS.map((bandwidths) => {
    const before = left;
    const at = oncePerPlace((place) => smoothed(before, place, bandwidths));
    left = before.map((each) => ({ ...each, log: each.log - at(each.at) }));
    return (batch) => at({ batch, instances: 0 });
  });
}

/** Many points are of the same few places. */
function oncePerPlace(compute: (place: Doublings) => number): (place: Doublings) => number {
  const known = new Map<number, Map<number, number>>();
  return (place) => {
    const row = known.get(place.batch) ?? new Map<number, number>();
    known.set(place.batch, row);
    const value = row.get(place.instances) ?? compute(place);
    row.set(place.instances, value);
    return value;
  };
}

/** The mean of the residuals near a place, drawn towards none. */
function smoothed(residuals: readonly Residual[], place: Doublings, bandwidths: Doublings): number {
  let [sum, total] = [0, SHRINKAGE];
  for (const { log, at, weight } of residuals) {
    const batch = (place.batch - at.batch) / bandwidths.batch;
    const instances = (place.instances - at.instances) / bandwidths.instances;
    const counts = weight * Math.exp(-(batch ** 2 + instances ** 2) / 2);
    sum += counts * log;
    total += counts;
  }
  return sum / total;
}
