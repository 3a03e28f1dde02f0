import { affineNs } from './affine-line.ts';
import type { ExecutionPoint } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';
import { type CorrectedLine, fitCorrectedLine } from './residual-correction.ts';

const ROUNDS = 4;
/**
 * The pseudo-weight of the expected factor: few points of a combination of settings leave it near
 * the expectation.
 */
const SHRINKAGE = 0.5;

/**
 * Returns the execution time of each measured combination of settings relative to the reference's,
 * as a logarithm, by settings key. Combinations are seldom measured with the same instances and
 * batches, so a fit to the reference's points alone would attribute interference and cliffs to
 * settings. The service law of all points and the factors are therefore fitted alternately, four
 * rounds from the expected factors (logarithms; 0 if absent): each round adds the mean residual of
 * a combination's points, less that of the reference's.
 */
export function executionTimeFactors(
  points: readonly ExecutionPoint[],
  reference: string,
  expected: ReadonlyMap<string, number> = new Map(),
  without: WithoutParts = WHOLE,
): ReadonlyMap<string, number> {
  const bySettings = Map.groupBy(points, ({ settingsKey }) => settingsKey);
  const findExpected = (settingsKey: string): number => expected.get(settingsKey) ?? 0;
  let factors = new Map([...bySettings.keys()].map((settingsKey) => [settingsKey, findExpected(settingsKey)]));
  if (factors.size === 1) return factors;
  for (let round = 0; round < (without.has('settings') ? 1 : ROUNDS); round++) {
    const level = levelled(points, factors);
    const correctedLines = new Map<number, CorrectedLine>();
    const correctedLineAt = (instances: number): CorrectedLine => {
      const correctedLine =
        correctedLines.get(instances) ?? fitCorrectedLine(level, { settingsKey: reference, instances }, without);
      correctedLines.set(instances, correctedLine);
      return correctedLine;
    };
    const left = new Map(
      [...Map.groupBy(level, ({ settingsKey }) => settingsKey)].map(([settingsKey, points]) => [
        settingsKey,
        computeLeft(points, correctedLineAt),
      ]),
    );
    const ofReference = left.get(reference)?.mean ?? 0;
    factors = new Map(
      [...left].map(([settingsKey, { mean, weight }]) => {
        const factor = (factors.get(settingsKey) ?? 0) + mean - ofReference;
        const shrunk = (factor * weight + findExpected(settingsKey) * SHRINKAGE) / (weight + SHRINKAGE);
        return [settingsKey, settingsKey === reference ? 0 : shrunk];
      }),
    );
  }
  return factors;
}

/** Returns all points divided by the factor of their settings, as if they were the reference's. */
export const levelled = (
  points: readonly ExecutionPoint[],
  factors: ReadonlyMap<string, number>,
): readonly ExecutionPoint[] =>
  points.map((point) => ({ ...point, executionNs: point.executionNs / Math.exp(factors.get(point.settingsKey) ?? 0) }));

/** Returns the weighted mean residual of points, as a logarithm. */
function computeLeft(
  points: readonly ExecutionPoint[],
  correctedLineAt: (instances: number) => CorrectedLine,
): { readonly mean: number; readonly weight: number } {
  let [sum, weight] = [0, 0];
  for (const point of points) {
    const { line, shapeAt } = correctedLineAt(point.instances);
    sum += point.weight * (Math.log(point.executionNs / affineNs(line, point)) - shapeAt(point.batchSize));
    weight += point.weight;
  }
  return { mean: weight > 0 ? sum / weight : 0, weight };
}
