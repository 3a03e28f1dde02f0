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
export function fitAffine(points: readonly BoundedPoint[]): AffineFit {
  let best: AffineFit | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const perInstance of PER_INSTANCE) {
    for (const batchExponent of EXPONENTS) {
      const interference = { perInstance, batchExponent };
      const factors = points.map((point) => interferenceFactor(interference, point));
      const line = fitLine(points, factors);
      const loss = line.loss + haste(points, line, factors) + PRIOR_WEIGHT * (surprise(perInstance) + batchExponent);
      if (loss >= least) continue;
      least = loss;
      best = { fixedNs: line.fixedNs, perSampleNs: line.perSampleNs, interference };
    }
  }
  return best as AffineFit;
}

/** A point that may say, more surely than how long an execution takes, that it takes no less. */
export type BoundedPoint = ServicePoint & { readonly leastWeight?: number };

/** By how much the line is below the points that it may not be below. */
function haste(points: readonly BoundedPoint[], line: Line, factors: readonly number[]): number {
  return points.reduce((sum, { leastWeight = 0, batchSize, executionNs: observedNs }, index) => {
    if (leastWeight === 0) return sum;
    const ratio = ((line.fixedNs + line.perSampleNs * batchSize) * (factors[index] as number)) / observedNs;
    return sum + leastWeight * Math.max(0, 1 - ratio) ** 2;
  }, 0);
}

/** What the line gives for a point, by the law's own rule of interference. */
export function affineNs(line: AffineFit, point: ServicePoint): number {
  return (line.fixedNs + line.perSampleNs * point.batchSize) * interferenceFactor(line.interference, point);
}

const ofOne = affineLaw(1, 0);

function interferenceFactor(interference: ServiceLaw['interference'], point: ServicePoint): number {
  return executionNs({ ...ofOne, interference }, point.batchSize, point.busyInstances);
}

const surprise = (perInstance: number): number => Math.log((perInstance + 0.02) / (USUAL_PER_INSTANCE + 0.02)) ** 2;

type Line = { readonly fixedNs: number; readonly perSampleNs: number; readonly loss: number };

/** The line through T / factor; where one batch size alone is known, the usual cost of a sample decides. */
function fitLine(points: readonly ServicePoint[], factors: readonly number[]): Line {
  const shortestNs = points.reduce((least, point) => Math.min(least, point.executionNs), Number.POSITIVE_INFINITY);
  const rows = points.map((point, index) => {
    const relative = (factors[index] as number) / point.executionNs;
    return { x: relative, y: relative * point.batchSize, weight: point.weight };
  });
  rows.push({ x: 0, y: 1 / (USUAL_PER_SAMPLE * shortestNs), weight: PRIOR_WEIGHT });
  const sum = (of: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + row.weight * of(row), 0);
  const [xx, xy, yy, x, y] = [
    sum((row) => row.x * row.x),
    sum((row) => row.x * row.y),
    sum((row) => row.y * row.y),
    sum((row) => row.x),
    sum((row) => row.y),
  ] as const;
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
  return { fixedNs, perSampleNs, loss: sum((row) => (fixedNs * row.x + perSampleNs * row.y - 1) ** 2) };
}
