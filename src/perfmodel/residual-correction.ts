import { type AffineFit, affineNs } from './affine-line.ts';
import { averagedInterference, type ExecutionPoint, type InterferenceModel } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/**
 * The service law of one combination of settings with one number of instances: an affine fit, and
 * its residual correction.
 */
export interface CorrectedLine {
  readonly line: AffineFit;
  /** The whole correction, as a logarithm. */
  correctionAt(batchSize: number): number;
  /**
   * The smooth part of the correction, without cliffs and steps, as a logarithm. Where settings
   * were measured at one batch size only, a step there would explain anything.
   */
  shapeAt(batchSize: number): number;
  /** The standard deviation of the interference's logarithm, with this many busy instances. */
  interferenceUncertainty(batchSize: number, busyInstances: number): number;
}

/** The weight of a point with other settings. */
const OTHER_SETTINGS_WEIGHT = 0.2;

/** The target of a fit of the law. */
export interface Like {
  readonly settingsKey: string;
  readonly instances: number;
}
/** The weight of points at which half of a correction applies. */
const SHRINKAGE = 0.3;

/** Coordinates in doublings. */
interface Doublings {
  readonly batch: number;
  readonly instances: number;
}

/**
 * Bandwidths of the kernel smoothers in doublings, in the order in which they are applied, each to
 * what the one before has left: the shape that all numbers of instances share (less the farther
 * apart they are, because interference may grow with the batch), its cliffs and steps, and both
 * again for nearly equal numbers of instances.
 */
const SHAPE: Doublings = { batch: 0.5, instances: 1.5 };
const STEPS: Doublings = { batch: 0.06, instances: 1.5 };
const BANDWIDTHS = [SHAPE, STEPS, { ...SHAPE, instances: 0.6 }, { ...STEPS, instances: 0.6 }] as const;
/** The number of these bandwidths, from the first on, that all numbers of instances share. */
const SHARED = 2;

/**
 * The residual of a point, as a logarithm, with its distance from the law's number of instances.
 */
interface Residual {
  readonly log: number;
  readonly at: Doublings;
  readonly weight: number;
}

/**
 * Fits execution times for one number of instances: an affine fit under interference, then four
 * kernel-smoothed corrections of the log residuals. Residuals use each point's own number of
 * instances, so that interference is not attributed to batch size.
 */
export function fitCorrectedLine(
  points: readonly ExecutionPoint[],
  like: Like,
  without: WithoutParts = WHOLE,
): CorrectedLine {
  const { instances } = like;
  const interference = interferenceFor(points, like.settingsKey, without);
  const corrections = without.has('shape') ? [] : fitCorrections(listResiduals(points, like, interference));
  return {
    line: interference.lineFor(instances),
    correctionAt: (batchSize) => corrections.reduce((sum, correction) => sum + correction(Math.log2(batchSize)), 0),
    shapeAt: (batchSize) => corrections[0]?.(Math.log2(batchSize)) ?? 0,
    interferenceUncertainty: (batchSize, busyInstances) =>
      interference.uncertainty(instances, busyInstances, batchSize),
  };
}

const computeWeight = (settingsKey: string, point: ExecutionPoint): number =>
  point.weight * (point.settingsKey === settingsKey ? 1 : OTHER_SETTINGS_WEIGHT);

const known = new WeakMap<readonly ExecutionPoint[], Map<string, InterferenceModel>>();

/** Memoizes the interference model by the identity of the points. */
function interferenceFor(
  points: readonly ExecutionPoint[],
  settingsKey: string,
  without: WithoutParts,
): InterferenceModel {
  const bySettings = known.get(points) ?? new Map<string, InterferenceModel>();
  known.set(points, bySettings);
  const interference = bySettings.get(settingsKey) ?? withoutSteps(points, settingsKey, without);
  bySettings.set(settingsKey, interference);
  return interference;
}

/**
 * Fits the interference to points without the steps between batch sizes that all numbers of
 * instances share, which would be attributed to interference.
 */
function withoutSteps(
  points: readonly ExecutionPoint[],
  settingsKey: string,
  without: WithoutParts,
): InterferenceModel {
  const weighed = points.map((point) => ({ ...point, weight: computeWeight(settingsKey, point) }));
  const rough = averagedInterference(weighed, without);
  if (without.has('shape')) return rough;
  const shapes = fitCorrections(listResiduals(points, { settingsKey, instances: 1 }, rough)).slice(0, SHARED);
  return averagedInterference(
    weighed.map((point) => {
      const shape = shapes.reduce((sum, correction) => sum + correction(Math.log2(point.batchSize)), 0);
      return { ...point, executionNs: point.executionNs / Math.exp(shape) };
    }),
    without,
  );
}

function listResiduals(
  points: readonly ExecutionPoint[],
  { settingsKey, instances }: Like,
  interference: InterferenceModel,
): Residual[] {
  const lines = new Map<number, AffineFit>();
  return points.map((point) => {
    const line = lines.get(point.instances) ?? interference.lineFor(point.instances);
    lines.set(point.instances, line);
    return {
      log: Math.log(point.executionNs / affineNs(line, point)),
      at: { batch: Math.log2(point.batchSize), instances: Math.log2(point.instances / instances) },
      weight: computeWeight(settingsKey, point),
    };
  });
}

/** Returns the corrections as functions of log2 of the batch size. */
function fitCorrections(residuals: readonly Residual[]): ((batch: number) => number)[] {
  let left = residuals;
  return BANDWIDTHS.map((bandwidths) => {
    const before = left;
    const at = oncePerPlace((place) => smoothed(before, place, bandwidths));
    left = before.map((each) => ({ ...each, log: each.log - at(each.at) }));
    return (batch) => at({ batch, instances: 0 });
  });
}

/** Memoizes by place, because many points share few places. */
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

/**
 * Returns the kernel-weighted mean of the residuals near a place (Nadaraya and Watson), shrunk
 * towards 0.
 */
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
