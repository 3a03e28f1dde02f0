import type { PredictedRow } from './model.ts';
import { type CalibrationRow, computeMs, outsideMs } from './row.ts';

/**
 * The scale of the Cauchy errors, as a ratio's logarithm: larger errors count less than in
 * proportion, so that a single disturbed row does not decide.
 */
const USUAL_MISS = 0.1;
/** The weight of the server's queue and compute times relative to the clients' figures. */
const SERVER_WEIGHT = 0.2;

/**
 * Returns the negative log-likelihood of a row given its prediction, with Cauchy-distributed
 * errors.
 */
export function computeLoss(predictedRow: PredictedRow, row: CalibrationRow): number {
  const miss = (value: number, measured: number, weight: number, least = 0): number =>
    weight * Math.log1p((Math.log((value + least) / (measured + least)) / USUAL_MISS) ** 2);
  const clients =
    miss(predictedRow.inferPerSecond, row.inferPerSecond, 1) + miss(predictedRow.p50Ms, row.latencyMs.p50, 1);
  if (!row.server) return clients;
  // Times near zero are mostly rounding error; the offset keeps their logarithms stable.
  const calm = computeMs(row.server) / 10;
  return (
    clients +
    miss(predictedRow.queueMs, row.server.queueMs, SERVER_WEIGHT, calm) +
    miss(predictedRow.computeMs, computeMs(row.server), SERVER_WEIGHT) +
    miss(predictedRow.outsideMs, outsideMs(row, row.server), SERVER_WEIGHT, calm)
  );
}

/** Returns |predicted / measured − 1| of throughput and of p50. */
export const computeMisses = (
  predictedRow: PredictedRow,
  row: CalibrationRow,
): { throughput: number; p50: number } => ({
  throughput: Math.abs(predictedRow.inferPerSecond / row.inferPerSecond - 1),
  p50: Math.abs(predictedRow.p50Ms / row.latencyMs.p50 - 1),
});
