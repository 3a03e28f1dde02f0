import { executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import type { Normal } from '#stats/gaussian-process.ts';

/**
 * The largest logarithm of the batch size that fills a device over the largest measured one; each
 * below it is equally likely.
 */
const MAX_FILLING = Math.log(64);

/**
 * Returns the logarithm of the time of a batch beyond the largest measured one, over that of the
 * law. A batch that does not fill a device takes hardly longer than a smaller one; from the batch
 * that fills it on, the time grows with the batch (the roofline: Williams, Waterman and Patterson,
 * 2009). So the more a larger batch seems to save, the less sure that is. On 101 published tables
 * of GPUs, lines that were fitted to small batches are off as this says
 * (docs/benchmarks/queueing.md).
 */
export function fillingBeyond(batchSize: number, largest: number, law: ServiceLaw): Normal {
  const growth = Math.log(executionNs(law, batchSize, 1) / executionNs(law, largest, 1));
  const saved = Math.min(MAX_FILLING, Math.max(0, Math.log(batchSize / largest) - growth));
  const mean = saved ** 2 / (2 * MAX_FILLING);
  return { mean, sd: Math.sqrt(Math.max(0, saved ** 3 / (3 * MAX_FILLING) - mean ** 2)) };
}

/** Returns the law with the expected times of batches beyond the largest measured one. */
export const withFilling = (law: ServiceLaw, largest: number): ServiceLaw => ({
  ...law,
  points: law.points.map((point) =>
    point.batchSize > largest
      ? { ...point, executionNs: point.executionNs * Math.exp(fillingBeyond(point.batchSize, largest, law).mean) }
      : point,
  ),
});
