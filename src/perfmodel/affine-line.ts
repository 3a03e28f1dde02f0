import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import type { ServicePoint } from './observation.ts';

/**
 * T = (fixed + perSample × batch size) × (1 + interference): the service law without residual
 * corrections.
 */
export type AffineFit = {
  readonly fixedNs: number;
  readonly perSampleNs: number;
  readonly interference: ServiceLaw['interference'];
};

/** The share of a single execution's time that each sample adds, if no point shows it. */
export const USUAL_PER_SAMPLE = 0.05;
/** The weight of that prior relative to the points. */
const PRIOR_WEIGHT = 1e-4;
/** The least share of both parts in an execution's time. */
const MIN_SHARE = 1e-3;

/** Returns the execution time of a point by the affine fit, in nanoseconds. */
export function affineNs(line: AffineFit, point: ServicePoint): number {
  return (line.fixedNs + line.perSampleNs * point.batchSize) * interferenceFactor(line.interference, point);
}

const ofOne = affineLaw(1, 0);

/**
 * Returns the ratio of the execution time with busy instances to that of a lone instance, by the
 * service law's interference.
 */
export function interferenceFactor(
  interference: ServiceLaw['interference'],
  { batchSize, busyInstances }: Pick<ServicePoint, 'batchSize' | 'busyInstances'>,
): number {
  return executionNs({ ...ofOne, interference }, batchSize, busyInstances);
}

type Line = { readonly fixedNs: number; readonly perSampleNs: number; readonly loss: number };

/**
 * Fits the affine line to T / factor by weighted least squares of relative errors; `loss` is their
 * sum. If all points have one batch size, a prior on the cost of a sample decides. Needs at least
 * one point, and a factor for each.
 */
export function fitLine(points: readonly ServicePoint[], factors: readonly number[]): Line {
  const shortestNs = points.reduce((least, point) => Math.min(least, point.executionNs), Number.POSITIVE_INFINITY);
  const usual = 1 / (USUAL_PER_SAMPLE * shortestNs);
  let [xx, xy, x, total] = [0, 0, 0, PRIOR_WEIGHT];
  let [yy, y] = [PRIOR_WEIGHT * usual * usual, PRIOR_WEIGHT * usual];
  for (const [index, { batchSize, executionNs: observedNs, weight }] of points.entries()) {
    const relative = (factors[index] as number) / observedNs;
    const weighted = weight * relative;
    x += weighted;
    y += weighted * batchSize;
    xx += weighted * relative;
    xy += weighted * relative * batchSize;
    yy += weighted * relative * batchSize * batchSize;
    total += weight;
  }
  const leastNs = MIN_SHARE * shortestNs;
  const determinant = xx * yy - xy * xy;
  let fixedNs = (x * yy - y * xy) / determinant;
  let perSampleNs = (y * xx - x * xy) / determinant;
  if (!(fixedNs >= leastNs)) {
    fixedNs = leastNs;
    perSampleNs = (y - fixedNs * xy) / yy;
  } else if (!(perSampleNs >= leastNs)) {
    perSampleNs = leastNs;
    fixedNs = (x - perSampleNs * xy) / xx;
  }
  const squares = fixedNs * fixedNs * xx + 2 * fixedNs * perSampleNs * xy + perSampleNs * perSampleNs * yy;
  return { fixedNs, perSampleNs, loss: squares - 2 * (fixedNs * x + perSampleNs * y) + total };
}
