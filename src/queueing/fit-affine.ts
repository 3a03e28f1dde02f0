import type { ServicePoint } from './observation.ts';
import { affineLaw, executionNs, type ServiceLaw } from './service-law.ts';

/** T = (fixed + perSample × batch size) × (1 + interference): the shape of a law, before its details. */
export type AffineFit = {
  readonly fixedNs: number;
  readonly perSampleNs: number;
  readonly interference: ServiceLaw['interference'];
};

const PER_INSTANCE = [0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1, 1.3, 1.8, 2.5];
const EXPONENTS = [0, 0.2, 0.4];

/** What is believed without measurements: one more instance costs a tenth, one more sample a twentieth. Weak: */
const USUAL_PER_INSTANCE = 0.1;
const USUAL_PER_SAMPLE = 0.05;
const PRIOR_WEIGHT = 1e-4;
/** An execution always has a little of a fixed part, and of a part per sample. */
const LEAST_SHARE = 1e-3;

/**
 * Weighted least squares of relative errors: for every interference of a grid the best line, then the best of all.
 * Needs one point at least.
 */
export function fitAffine(points: readonly ServicePoint[]): AffineFit {
  let best: AffineFit | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const perInstance of PER_INSTANCE) {
    for (const batchExponent of EXPONENTS) {
      const interference = { perInstance, batchExponent };
      const factors = points.map((point) => interferenceFactor(interference, point));
      const line = fitLine(points, factors);
      const loss = line.loss + PRIOR_WEIGHT * (surprise(perInstance) + batchExponent);
      if (loss >= least) continue;
      least = loss;
      best = { fixedNs: line.fixedNs, perSampleNs: line.perSampleNs, interference };
    }
  }
  return best as AffineFit;
}

/** What the line gives for a point. */
export function affineNs(line: AffineFit, point: ServicePoint): number {
  return (line.fixedNs + line.perSampleNs * point.batchSize) * interferenceFactor(line.interference, point);
}

const ofOne = affineLaw(1, 0);

/** How many times longer an execution takes than alone, by the law's own rule of interference. */
export function interferenceFactor(
  interference: ServiceLaw['interference'],
  { batchSize, busyInstances }: Pick<ServicePoint, 'batchSize' | 'busyInstances'>,
): number {
  return executionNs({ ...ofOne, interference }, batchSize, busyInstances);
}

const surprise = (perInstance: number): number => Math.log((perInstance + 0.02) / (USUAL_PER_INSTANCE + 0.02)) ** 2;

type Line = { readonly fixedNs: number; readonly perSampleNs: number; readonly loss: number };

/**
 * The line through T / factor with the least weighted squares of relative errors, which `loss` is; where one batch size alone
 * is known, the usual cost of a sample decides. A factor for each point, one point at least.
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
  const leastNs = LEAST_SHARE * shortestNs;
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
