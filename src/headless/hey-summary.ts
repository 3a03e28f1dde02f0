import { plainLine } from '../base/format.ts';
import { NS_PER_S } from '../base/units.ts';
import type { PlainHttpFigures } from '../loadgen/plain-http/run.ts';
import type { Spread } from '../loadgen/plain-http/tally.ts';
import type { LatencyHistogram } from '../stats/histogram.ts';

/** What a run of plain HTTP gave, in seconds and bytes: printed as it is with JSON. */
export interface HttpSummary {
  readonly schemaVersion: 1;
  readonly totalSeconds: number;
  readonly requestsPerSecond: number;
  readonly totalBytes: number;
  readonly latencySeconds: { readonly average: number; readonly fastest: number; readonly slowest: number };
  /** Eleven, evenly spaced from the fastest to the slowest, each with the replies up to it that no earlier one has. */
  readonly histogram: readonly { readonly uptoSeconds: number; readonly count: number }[];
  readonly percentiles: readonly { readonly percentile: number; readonly seconds: number }[];
  readonly phases: readonly HttpPhase[];
  readonly statuses: readonly { readonly status: number; readonly count: number }[];
  readonly errors: readonly { readonly kind: string; readonly count: number; readonly firstMessage: string }[];
  /** Figures of a request rate; null without one. */
  readonly rate: HttpRate | null;
}

interface HttpPhase {
  readonly name: string;
  /** How often it was measured: names and connections are needed for new connections only. */
  readonly count: number;
  readonly averageSeconds: number;
  readonly fastestSeconds: number;
  readonly slowestSeconds: number;
}

interface HttpRate {
  readonly asked: number;
  readonly sent: number;
  readonly late: number;
  readonly notSent: number;
}

const PERCENTILES = [10, 25, 50, 75, 90, 95, 99] as const;
/** Steps of the histogram; there is one more bucket, for the fastest. */
const STEPS = 10;
const LONGEST_BAR = 40;

/** The summary of the figures; `perSecond` is the rate that was asked for. */
export function summaryOf(figures: PlainHttpFigures, perSecond: number | undefined): HttpSummary {
  const { latencies, replies, sends } = figures;
  const totalSeconds = figures.totalNs / NS_PER_S;
  return {
    schemaVersion: 1,
    totalSeconds,
    requestsPerSecond: totalSeconds === 0 ? 0 : latencies.count / totalSeconds,
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
    errors: figures.failures,
    rate:
      sends === null || perSecond === undefined
        ? null
        : { asked: perSecond, sent: sends.sent, late: sends.late, notSent: sends.dropped },
  };
}

function histogramOf(latencies: LatencyHistogram): HttpSummary['histogram'] {
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

const phaseOf = (name: string, { count, meanNs, minNs, maxNs }: Spread): HttpPhase => ({
  name,
  count,
  averageSeconds: meanNs / NS_PER_S,
  fastestSeconds: minNs / NS_PER_S,
  slowestSeconds: maxNs / NS_PER_S,
});

/** The summary with the sections and columns of `hey`. */
export function heyLines(summary: HttpSummary): readonly string[] {
  const { latencySeconds: latency, totalBytes } = summary;
  const replies = summary.statuses.reduce((sum, { count }) => sum + count, 0);
  return [
    '',
    'Summary:',
    `  Total:\t${seconds(summary.totalSeconds)}`,
    `  Slowest:\t${seconds(latency.slowest)}`,
    `  Fastest:\t${seconds(latency.fastest)}`,
    `  Average:\t${seconds(latency.average)}`,
    `  Requests/sec:\t${summary.requestsPerSecond.toFixed(4)}`,
    '',
    ...(totalBytes > 0
      ? [`  Total data:\t${totalBytes} bytes`, `  Size/request:\t${Math.floor(totalBytes / replies)} bytes`, '']
      : []),
    'Response time histogram:',
    ...bars(summary.histogram),
    '',
    '',
    'Latency distribution:',
    ...summary.percentiles.map((each) => `  ${each.percentile}% in ${seconds(each.seconds)}`),
    '',
    'Details (average, fastest, slowest):',
    ...summary.phases.map(
      (each) =>
        `  ${each.name}:\t${[each.averageSeconds, each.fastestSeconds, each.slowestSeconds].map(seconds).join(', ')}`,
    ),
    '',
    'Status code distribution:',
    ...summary.statuses.map(({ status, count }) => `  [${status}]\t${count} responses`),
    '',
    ...section(
      'Error distribution:',
      summary.errors,
      (each) => `  [${each.count}]\t${each.kind}: ${plainLine(each.firstMessage)}`,
    ),
    ...section(
      'Request rate (response times count from when a request was due):',
      rateRows(summary.rate),
      (row) => row,
    ),
  ];
}

const seconds = (value: number): string => `${value.toFixed(4)} secs`;

function bars(histogram: HttpSummary['histogram']): string[] {
  const most = Math.max(...histogram.map(({ count }) => count));
  return histogram.map(({ uptoSeconds, count }) => {
    const length = most === 0 ? 0 : Math.round((count * LONGEST_BAR) / most);
    return `  ${uptoSeconds.toFixed(3)} [${count}]\t|${'■'.repeat(length)}`;
  });
}

const rateRows = (rate: HttpRate | null): string[] =>
  rate === null
    ? []
    : [
        `  Asked:\t${rate.asked} requests/sec`,
        `  Sent:\t${rate.sent} requests, ${rate.late} of them late`,
        `  Not sent:\t${rate.notSent} requests, as too many were in flight`,
      ];

function section<T>(title: string, rows: readonly T[], line: (row: T) => string): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map(line), ''];
}
