import { NS_PER_S } from '../base/units.ts';
import type { ReplyTally, Spread } from '../loadgen/plain-http/tally.ts';
import type { LatencyHistogram } from '../stats/histogram.ts';

/**
 * What came back over plain HTTP in the counted windows, in seconds and bytes. Response times count from when a request was due, where it
 * was, else from its sending.
 */
export interface HttpReplies {
  readonly count: number;
  readonly totalBytes: number;
  readonly latencySeconds: { readonly average: number; readonly fastest: number; readonly slowest: number };
  /** Eleven, evenly spaced from the fastest to the slowest, each with the replies up to it that no earlier one has. */
  readonly histogram: readonly { readonly uptoSeconds: number; readonly count: number }[];
  readonly percentiles: readonly { readonly percentile: number; readonly seconds: number }[];
  readonly phases: readonly HttpPhase[];
  readonly statuses: readonly { readonly status: number; readonly count: number }[];
}

export interface HttpPhase {
  readonly name: string;
  /** How often it was measured: names and connections are needed for new connections only. */
  readonly count: number;
  readonly averageSeconds: number;
  readonly fastestSeconds: number;
  readonly slowestSeconds: number;
}

const PERCENTILES = [10, 25, 50, 75, 90, 95, 99] as const;
/** Steps of the histogram; there is one more bucket, for the fastest. */
const STEPS = 10;

/** `latencies` are those of the same replies. */
export function httpReplies(replies: ReplyTally, latencies: LatencyHistogram): HttpReplies {
  return {
    count: latencies.count,
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

const phaseOf = (name: string, { count, sumNs, minNs, maxNs }: Spread): HttpPhase => ({
  name,
  count,
  averageSeconds: count === 0 ? 0 : sumNs / count / NS_PER_S,
  fastestSeconds: count === 0 ? 0 : minNs / NS_PER_S,
  slowestSeconds: maxNs / NS_PER_S,
});
