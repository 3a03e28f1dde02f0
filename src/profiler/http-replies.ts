import { NS_PER_S } from '../base/units.ts';
import type { ReplyTally, TimeSpread } from '../loadgen/plain-http/tally.ts';
import type { LatencyHistogram } from '../stats/histogram.ts';

/**
 * The plain HTTP replies in the counted windows, in seconds and bytes. Response times count from
 * the due time of a request if it had one, else from its sending.
 */
export interface HttpReplies {
  readonly count: number;
  /** Inferences that each answers, if more than one. */
  readonly batch?: number;
  readonly totalBytes: number;
  readonly latencySeconds: { readonly average: number; readonly fastest: number; readonly slowest: number };
  /**
   * Eleven buckets, evenly spaced from the fastest to the slowest reply. Each counts the replies up
   * to its bound that no earlier bucket holds.
   */
  readonly histogram: readonly { readonly uptoSeconds: number; readonly count: number }[];
  readonly percentiles: readonly { readonly percentile: number; readonly seconds: number }[];
  readonly phases: readonly HttpPhase[];
  readonly statuses: readonly { readonly status: number; readonly count: number }[];
}

export interface HttpPhase {
  readonly name: string;
  /** The number of measured values: only new connections look up names and connect. */
  readonly count: number;
  readonly averageSeconds: number;
  readonly fastestSeconds: number;
  readonly slowestSeconds: number;
}

const PERCENTILES = [10, 25, 50, 75, 90, 95, 99] as const;
/** Steps of the histogram; it has one more bucket, for the fastest reply. */
const STEPS = 10;

/** `latencies` must be those of the same replies, each of which answers `batch` inferences. */
export function httpReplies(replies: ReplyTally, latencies: LatencyHistogram, batch = 1): HttpReplies {
  return {
    count: latencies.count,
    ...(batch > 1 && { batch }),
    totalBytes: replies.bodyBytes,
    latencySeconds: {
      average: latencies.meanNs / NS_PER_S,
      fastest: latencies.minNs / NS_PER_S,
      slowest: latencies.maxNs / NS_PER_S,
    },
    histogram: histogramOf(latencies),
    percentiles: PERCENTILES.map((percentile) => ({
      percentile,
      seconds: latencies.quantileNs(percentile / 100) / NS_PER_S,
    })),
    phases: [
      phaseOf('DNS+dialup', replies.connect),
      phaseOf('DNS-lookup', replies.lookup),
      phaseOf('resp wait', replies.wait),
      phaseOf('resp read', replies.read),
    ],
    statuses: [...replies.statuses].sort(([a], [b]) => a - b).map(([status, count]) => ({ status, count })),
  };
}

function histogramOf(latencies: LatencyHistogram): HttpReplies['histogram'] {
  const { minNs, maxNs, count } = latencies;
  let before = 0;
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const uptoNs = step === STEPS ? maxNs : minNs + ((maxNs - minNs) * step) / STEPS;
    const upto = count - latencies.countAbove(uptoNs);
    const inside = upto - before;
    before = upto;
    return { uptoSeconds: uptoNs / NS_PER_S, count: inside };
  });
}

const phaseOf = (name: string, { count, sumNs, minNs, maxNs }: TimeSpread): HttpPhase => ({
  name,
  count,
  averageSeconds: count === 0 ? 0 : sumNs / count / NS_PER_S,
  fastestSeconds: count === 0 ? 0 : minNs / NS_PER_S,
  slowestSeconds: maxNs / NS_PER_S,
});
