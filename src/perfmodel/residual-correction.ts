import { type AffineFit, affineNs } from '../queueing/fit-affine.ts';
import { averagedInterference, type InterferenceModel, isAmongSingles, type Point } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/** What the points say of one variant with one number of instances: a line, and where they leave it. */
export interface CorrectedLine {
  readonly line: AffineFit;
  /** Of all that is known, as a logarithm. */
  correctionAt(batchSize: number): number;
  /** Of what other numbers of instances share, as a logarithm. */
  shapeAt(batchSize: number): number;
  /** How well it is known what so many busy instances do to such an execution: a logarithm's standard deviation. */
  interferenceUncertainty(batchSize: number, busyInstances: number): number;
}

const OTHER_VARIANT_WEIGHT = 0.2;
/** Executions of one beside batches tell less of those among themselves. */
const OTHER_COMPANY_WEIGHT = 0.2;

/** What a law is for. */
export interface Like {
  readonly variant: string;
  readonly instances: number;
  /** Without batching. */
  readonly isSingle: boolean;
}
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
 * Execution times for one number of instances: an affine fit under interference, then four kernel-smoothed corrections of what it leaves, as
 * logarithms. What it leaves of a point is taken from the line of the point's own number of instances, so that interference is not attributed to
 * batch sizes. Without batching, the fit leans on executions that had no batches beside them.
 */
export function correctedLineOf(points: readonly Point[], like: Like, without: WithoutParts = WHOLE): CorrectedLine {
  const { instances } = like;
  const interference = interferenceFor(points, like, without);
  const corrections = without.has('shape')
    ? []
    : correctionsOf(residualsOf(points, like, interference, instances, without));
  const sumAt = (batchSize: number, some: typeof corrections): number =>
    some.reduce((sum, correction) => sum + correction(Math.log2(batchSize)), 0);
  return {
    line: interference.lineFor(instances),
    correctionAt: (batchSize) => sumAt(batchSize, corrections),
    shapeAt: (batchSize) => sumAt(batchSize, corrections.slice(0, SHARED)),
    interferenceUncertainty: (batchSize, busyInstances) =>
      interference.uncertainty(instances, busyInstances, batchSize),
  };
}

function weightFor({ variant, isSingle }: Like, point: Point, without: WithoutParts): number {
  const ofVariant = point.variant === variant ? 1 : OTHER_VARIANT_WEIGHT;
  const ofCompany = isSingle && !isAmongSingles(point) && !without.has('company') ? OTHER_COMPANY_WEIGHT : 1;
  return point.weight * ofVariant * ofCompany;
}

const known = new WeakMap<readonly Point[], Map<string, InterferenceModel>>();

/** It is found once for these very points. */
function interferenceFor(points: readonly Point[], like: Like, without: WithoutParts): InterferenceModel {
  const ofKinds = known.get(points) ?? new Map<string, InterferenceModel>();
  known.set(points, ofKinds);
  const kind = `${like.isSingle} ${like.variant}`;
  const interference = ofKinds.get(kind) ?? withoutSteps(points, like, without);
  ofKinds.set(kind, interference);
  return interference;
}

/** Takes away the steps between batch sizes that all numbers of instances share: they would be taken for interference. */
function withoutSteps(points: readonly Point[], like: Like, without: WithoutParts): InterferenceModel {
  const weighed = points.map((point) => ({ ...point, weight: weightFor(like, point, without) }));
  const rough = averagedInterference(weighed, without);
  if (without.has('shape')) return rough;
  const shapes = correctionsOf(residualsOf(points, like, rough, 1, without)).slice(0, SHARED);
  return averagedInterference(
    weighed.map((point) => {
      const shape = shapes.reduce((sum, correction) => sum + correction(Math.log2(point.batchSize)), 0);
      return { ...point, executionNs: point.executionNs / Math.exp(shape) };
    }),
    without,
  );
}

function residualsOf(
  points: readonly Point[],
  like: Like,
  interference: InterferenceModel,
  instances: number,
  without: WithoutParts,
): Residual[] {
  const lines = new Map<number, AffineFit>();
  return points.map((point) => {
    const line = lines.get(point.instances) ?? interference.lineFor(point.instances);
    lines.set(point.instances, line);
    return {
      log: Math.log(point.executionNs / affineNs(line, point)),
      at: { batch: Math.log2(point.batchSize), instances: Math.log2(point.instances / instances) },
      weight: weightFor(like, point, without),
    };
  });
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
