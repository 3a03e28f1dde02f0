import type { ForetoldRow } from './calibration-model.ts';
import { type CalibrationRow, computeMs, outsideMs } from './calibration-row.ts';

/** Misses beyond this count less and less, so that one disturbed row does not decide. A logarithm of a ratio. */
const USUAL_MISS = 0.1;
/** What the server says of queue and compute counts less than what the clients saw. */
const SERVER_WEIGHT = 0.2;

/** How far a row is from what was foretold: a negative log-likelihood of misses that spread as Cauchy's law has it. */
export function lossOf(told: ForetoldRow, row: CalibrationRow): number {
  const miss = (value: number, measured: number, weight: number, least = 0): number =>
    weight * Math.log1p((Math.log((value + least) / (measured + least)) / USUAL_MISS) ** 2);
  const clients = miss(told.inferPerSecond, row.inferPerSecond, 1) + miss(told.p50Ms, row.latencyMs.p50, 1);
  if (!row.server) return clients;
  // Times near zero are mostly rounding: what is added keeps their logarithms calm.
  const calm = computeMs(row.server) / 10;
  return (
    clients +
    miss(told.queueMs, row.server.queueMs, SERVER_WEIGHT, calm) +
    miss(told.computeMs, computeMs(row.server), SERVER_WEIGHT) +
    miss(told.outsideMs, outsideMs(row, row.server), SERVER_WEIGHT, calm)
  );
}

/** |foretold / measured − 1| of throughput and of p50. */
export const missesOf = (told: ForetoldRow, row: CalibrationRow): { throughput: number; p50: number } => ({
  throughput: Math.abs(told.inferPerSecond / row.inferPerSecond - 1),
  p50: Math.abs(told.p50Ms / row.latencyMs.p50 - 1),
});
