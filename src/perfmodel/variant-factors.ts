import { affineNs } from '../queueing/fit-affine.ts';
import type { Point } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';
import { type CorrectedLine, correctedLineOf } from './residual-correction.ts';

const ROUNDS = 4;
/** Of points: a variant that few of them tell of is taken to be nearly as fast as the reference. */
const SHRINKAGE = 0.5;

/**
 * How much slower each variant executes than the reference, as a logarithm. Variants are seldom measured with the same instances
 * and batches, so that a line through the reference's points alone would take interference and cliffs, which it has not seen,
 * for what another variant does. The law of all points and the factors are found in turn instead, beginning without factors.
 */
export function variantFactors(
  points: readonly Point[],
  reference: string,
  without: WithoutParts = WHOLE,
): ReadonlyMap<string, number> {
  const byVariant = Map.groupBy(points, ({ variant }) => variant);
  let factors = new Map([...byVariant.keys()].map((variant) => [variant, 0]));
  if (factors.size === 1) return factors;
  for (let round = 0; round < (without.has('joint-factors') ? 1 : ROUNDS); round++) {
    const level = levelled(points, factors);
    const correctedLines = new Map<number, CorrectedLine>();
    const correctedLineAt = (instances: number): CorrectedLine => {
      const correctedLine =
        correctedLines.get(instances) ??
        correctedLineOf(level, { variant: reference, instances, isSingle: false }, without);
      correctedLines.set(instances, correctedLine);
      return correctedLine;
    };
    factors = new Map(
      [...byVariant].map(([variant, own]) => [variant, variant === reference ? 0 : factorOf(own, correctedLineAt)]),
    );
  }
  return factors;
}

/** All points as if they were the reference's. */
export const levelled = (points: readonly Point[], factors: ReadonlyMap<string, number>): readonly Point[] =>
  points.map((point) => ({ ...point, executionNs: point.executionNs / Math.exp(factors.get(point.variant) ?? 0) }));

function factorOf(own: readonly Point[], correctedLineAt: (instances: number) => CorrectedLine): number {
  let [sum, total] = [0, SHRINKAGE];
  for (const point of own) {
    const { line, shapeAt } = correctedLineAt(point.instances);
    sum += point.weight * (Math.log(point.executionNs / affineNs(line, point)) - shapeAt(point.batchSize));
    total += point.weight;
  }
  return sum / total;
}
