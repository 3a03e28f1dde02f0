import { formatFigure, plainLine } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import type { HttpReplies } from '#profiler/http-replies.ts';
import type { Measurement } from '#profiler/measurement.ts';

/**
 * The figures of a level of plain HTTP, in seconds and bytes. With JSON they are printed unchanged.
 */
export interface HttpSummary extends Omit<HttpReplies, 'count'> {
  readonly totalSeconds: number;
  readonly requestsPerSecond: number;
  readonly errors: Measurement['failures'];
  /** Figures of a request rate; null without one. */
  readonly rate: HttpRate | null;
}

interface HttpRate {
  /** Requests per second. */
  readonly requestedPerSecond: number;
  readonly sent: number;
  /** Requests. */
  readonly late: number;
  readonly notSent: number;
}

const LONGEST_BAR = 40;

/** Returns the summary of a level; null if no reply was counted. */
export function findSummary({ level, durationMs, failures, openLoop, replies }: Measurement): HttpSummary | null {
  if (!replies) return null;
  const { count, ...figures } = replies;
  const totalSeconds = durationMs / MS_PER_S;
  return {
    ...figures,
    totalSeconds,
    requestsPerSecond: totalSeconds === 0 ? 0 : count / totalSeconds,
    errors: failures.filter(({ kind }) => kind !== 'dropped'),
    rate: openLoop
      ? {
          requestedPerSecond: level.value,
          sent: openLoop.achievedRate,
          late: openLoop.lateSends,
          notSent: openLoop.droppedSends,
        }
      : null,
  };
}

/** Returns the summary with the sections and columns of `hey`. */
export function heyLines(summary: HttpSummary): readonly string[] {
  const { latencySeconds: latency, totalBytes } = summary;
  const replies = summary.statuses.reduce((sum, { count }) => sum + count, 0);
  return [
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
    // Name lookups and connects only happen for new connections, of which there may be none.
    ...summary.phases
      .filter(({ count }) => count > 0)
      .map(
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
        `  Asked:\t${rate.requestedPerSecond} requests/sec`,
        `  Sent:\t${formatFigure(rate.sent)} requests/sec, ${rate.late} requests late`,
        `  Not sent:\t${rate.notSent} requests, as too many were in flight`,
      ];

function section<T>(title: string, rows: readonly T[], line: (row: T) => string): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map(line), ''];
}
