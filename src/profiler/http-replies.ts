import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { figure, openObject, text } from '#base/schema.ts';
import { NS_PER_S } from '#base/units.ts';
import type { ReplyTally, TimeSpread } from '#loadgen/plain-http-tally.ts';
import type { LatencyHistogram } from '#stats/histogram.ts';

const seconds = {
  averageSeconds: figure.describe('mean'),
  fastestSeconds: figure.describe('shortest'),
  slowestSeconds: figure.describe('longest'),
};

export const replies = openObject({
  count: figure.describe('their number'),
  batch: figure.optional().describe('inferences that each answers, if more than one'),
  totalBytes: figure.describe('bytes of their bodies'),
  latencySeconds: openObject({
    average: figure.describe('mean'),
    fastest: figure.describe('shortest'),
    slowest: figure.describe('longest'),
  }).describe('response times'),
  histogram: z
    .array(openObject({ uptoSeconds: figure.describe('its bound'), count: figure.describe('replies in it') }))
    .describe('buckets of response times'),
  percentiles: z
    .array(openObject({ percentile: figure.describe('the percentile'), seconds: figure.describe('its time') }))
    .describe('percentiles of response times'),
  phases: z
    .array(openObject({ name: text.describe('its name'), count: figure.describe('measured values'), ...seconds }))
    .describe('parts of a response time'),
  statuses: z
    .array(openObject({ status: figure.describe('the status'), count: figure.describe('replies with it') }))
    .describe('replies by status'),
});

/**
 * The plain HTTP replies in the counted windows, in seconds and bytes. Response times count from
 * the due time of a request if it had one, else from its sending.
 */
export type HttpReplies = ReadOnly<z.output<typeof replies>>;

export type HttpPhase = HttpReplies['phases'][number];

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
    histogram: binLatencies(latencies),
    percentiles: PERCENTILES.map((percentile) => ({
      percentile,
      seconds: latencies.quantileNs(percentile / 100) / NS_PER_S,
    })),
    phases: [
      summarizePhase('DNS+dialup', replies.connect),
      summarizePhase('DNS-lookup', replies.lookup),
      summarizePhase('resp wait', replies.wait),
      summarizePhase('resp read', replies.read),
    ],
    statuses: [...replies.statuses].sort(([a], [b]) => a - b).map(([status, count]) => ({ status, count })),
  };
}

function binLatencies(latencies: LatencyHistogram): HttpReplies['histogram'] {
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

const summarizePhase = (name: string, { count, sumNs, minNs, maxNs }: TimeSpread): HttpPhase => ({
  name,
  count,
  averageSeconds: count === 0 ? 0 : sumNs / count / NS_PER_S,
  fastestSeconds: count === 0 ? 0 : minNs / NS_PER_S,
  slowestSeconds: maxNs / NS_PER_S,
});
