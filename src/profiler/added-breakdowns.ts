import type { ServerBreakdown } from './server-figures.ts';

/**
 * Returns one breakdown for all servers: sums of the counts, and means over their requests. Leaves
 * out batches, which may be of different models.
 */
export function addedBreakdowns(servers: readonly ServerBreakdown[]): ServerBreakdown {
  const sum = (of: (server: ServerBreakdown) => number): number => servers.reduce((total, each) => total + of(each), 0);
  const mean = (weight: (server: ServerBreakdown) => number, of: (server: ServerBreakdown) => number): number => {
    const total = sum(weight);
    return total > 0 ? sum((each) => weight(each) * of(each)) / total : 0;
  };
  const perRequest = (of: (server: ServerBreakdown) => number): number => mean(({ successCount }) => successCount, of);
  return {
    queueUs: perRequest(({ queueUs }) => queueUs),
    computeInputUs: perRequest(({ computeInputUs }) => computeInputUs),
    computeInferUs: perRequest(({ computeInferUs }) => computeInferUs),
    computeOutputUs: perRequest(({ computeOutputUs }) => computeOutputUs),
    overheadUs: perRequest(({ overheadUs }) => overheadUs),
    requestUs: perRequest(({ requestUs }) => requestUs),
    successCount: sum(({ successCount }) => successCount),
    inferenceCount: sum(({ inferenceCount }) => inferenceCount),
    executionCount: sum(({ executionCount }) => executionCount),
    failCount: sum(({ failCount }) => failCount),
    cache: {
      hitCount: sum(({ cache }) => cache.hitCount),
      hitUs: mean(
        ({ cache }) => cache.hitCount,
        ({ cache }) => cache.hitUs,
      ),
      missCount: sum(({ cache }) => cache.missCount),
      missUs: mean(
        ({ cache }) => cache.missCount,
        ({ cache }) => cache.missUs,
      ),
    },
    batches: [],
  };
}
