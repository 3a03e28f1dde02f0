import { NS_PER_US } from '#base/units.ts';
import type { BatchStatistics, ModelStatistics, StatisticDuration } from '#triton/types.ts';
import type { ServerBreakdown } from './server-figures.ts';

export type BreakdownOutcome =
  | { readonly usable: true; readonly breakdown: ServerBreakdown }
  | { readonly usable: false; readonly note: string };

/**
 * Returns the breakdown of the server's time between two readings of a model's statistics. These
 * hold one entry per version, the highest last. Without a `version`, the highest version that
 * served is used. Unusable if a counter went backwards (Triton restarts at 0 when it reloads a
 * model) or if nothing was served.
 */
export function serverBreakdown(
  before: readonly ModelStatistics[],
  after: readonly ModelStatistics[],
  version: string,
): BreakdownOutcome {
  const pairs = pairVersions(before, after, version);
  if (pairs.some(([first, second]) => first && wentBackwards(first, second))) {
    return unusable("the server's counters went backwards: the model was loaded anew during the measurement");
  }
  const served = pairs.findLast(([first, second]) => second.success.count > (first?.success.count ?? 0));
  if (!served) return unusable('the server counted no successful request in these windows');
  const [first, second] = served;
  const meanUs = (of: (statistics: ModelStatistics) => StatisticDuration): number =>
    meanDurationUs(first && of(first), of(second));
  const queueUs = meanUs((statistics) => statistics.queue);
  const computeInputUs = meanUs((statistics) => statistics.computeInput);
  const computeInferUs = meanUs((statistics) => statistics.computeInfer);
  const computeOutputUs = meanUs((statistics) => statistics.computeOutput);
  const requestUs = meanUs((statistics) => statistics.success);
  const grown = (of: (statistics: ModelStatistics) => number): number => of(second) - (first ? of(first) : 0);
  return {
    usable: true,
    breakdown: {
      queueUs,
      computeInputUs,
      computeInferUs,
      computeOutputUs,
      overheadUs: Math.max(0, requestUs - queueUs - computeInputUs - computeInferUs - computeOutputUs),
      requestUs,
      successCount: grown(({ success }) => success.count),
      inferenceCount: grown(({ inferenceCount }) => inferenceCount),
      executionCount: grown(({ executionCount }) => executionCount),
      failCount: grown(({ fail }) => fail.count),
      cache: {
        hitCount: grown(({ cacheHit }) => cacheHit.count),
        hitUs: meanUs(({ cacheHit }) => cacheHit),
        missCount: grown(({ cacheMiss }) => cacheMiss.count),
        missUs: meanUs(({ cacheMiss }) => cacheMiss),
      },
      batches: batchSizes(first?.batchStats ?? [], second.batchStats),
    },
  };
}

/**
 * Returns the breakdown of this share of the same requests: times per request and execution stay,
 * and every count is scaled and rounded to a whole number.
 */
export function shareOfBreakdown<B extends ServerBreakdown>(breakdown: B, share: number): B {
  if (share === 1) return breakdown;
  const part = (count: number): number => Math.round(count * share);
  const { cache, batches } = breakdown;
  return {
    ...breakdown,
    successCount: part(breakdown.successCount),
    inferenceCount: part(breakdown.inferenceCount),
    executionCount: part(breakdown.executionCount),
    failCount: part(breakdown.failCount),
    cache: { ...cache, hitCount: part(cache.hitCount), missCount: part(cache.missCount) },
    batches: batches
      .map((batch) => ({ ...batch, executions: part(batch.executions) }))
      .filter((batch) => batch.executions > 0),
  };
}

/**
 * Returns the number of requests that the server finished between two readings, over all requested
 * versions; null after a reset.
 */
export function requestsServed(
  before: readonly ModelStatistics[],
  after: readonly ModelStatistics[],
  version: string,
): number | null {
  const pairs = pairVersions(before, after, version);
  if (pairs.some(([first, second]) => first && wentBackwards(first, second))) return null;
  const finished = (statistics: ModelStatistics | undefined): number =>
    statistics ? statistics.success.count + statistics.fail.count : 0;
  return pairs.reduce((total, [first, second]) => total + finished(second) - finished(first), 0);
}

type VersionPair = readonly [ModelStatistics | undefined, ModelStatistics];

function pairVersions(
  before: readonly ModelStatistics[],
  after: readonly ModelStatistics[],
  version: string,
): VersionPair[] {
  return after
    .filter((second) => version === '' || second.version === version)
    .map((second) => [before.find((first) => first.version === second.version), second]);
}

function wentBackwards(first: ModelStatistics, second: ModelStatistics): boolean {
  const counts = ({ executionCount, inferenceCount, success, fail, cacheHit, cacheMiss }: ModelStatistics) => [
    ...[executionCount, inferenceCount, success.ns],
    ...[success, fail, cacheHit, cacheMiss].map(({ count }) => count),
  ];
  const earlier = counts(first);
  return counts(second).some((count, index) => count < (earlier[index] as number));
}

/**
 * Returns the mean of one duration per request over the duration's own count: cache hits and
 * failures have no compute time.
 */
function meanDurationUs(first: StatisticDuration | undefined, second: StatisticDuration): number {
  const count = second.count - (first?.count ?? 0);
  return count > 0 ? (second.ns - (first?.ns ?? 0)) / count / NS_PER_US : 0;
}

/** `batch_stats` counts each execution once, so its means are times per execution. */
function batchSizes(before: readonly BatchStatistics[], after: readonly BatchStatistics[]): ServerBreakdown['batches'] {
  return after
    .map((second) => {
      const first = before.find((candidate) => candidate.batchSize === second.batchSize);
      const executions = second.computeInfer.count - (first?.computeInfer.count ?? 0);
      const ns = computeNs(second) - (first ? computeNs(first) : 0);
      return { size: second.batchSize, executions, meanExecutionUs: executions > 0 ? ns / executions / NS_PER_US : 0 };
    })
    .filter((batch) => batch.executions > 0)
    .sort((one, other) => one.size - other.size);
}

const computeNs = (batch: BatchStatistics): number =>
  batch.computeInput.ns + batch.computeInfer.ns + batch.computeOutput.ns;

const unusable = (note: string): BreakdownOutcome => ({ usable: false, note });
