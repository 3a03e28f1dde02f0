import { describe, expect, it } from 'vitest';
import { NS_PER_MS } from '#base/units.ts';
import { findSummary, heyLines } from '#headless/hey-summary.ts';
import { ReplyCounter } from '#loadgen/plain-http-tally.ts';
import { httpReplies } from '#profiler/http-replies.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { measured } from '../study/builders.ts';

/** 100 replies: 1, 2, … 100 ms; 98 good, of 10 bytes each. */
function figures(more: Partial<Measurement> = {}): Measurement {
  const latencies = new LatencyHistogram();
  const replies = new ReplyCounter();
  for (let ms = 1; ms <= 100; ms++) {
    latencies.record(ms * NS_PER_MS);
    const opened = ms === 1 ? { lookupsNs: [3e5], connectsNs: [1e6, 2e6] } : { lookupsNs: [], connectsNs: [] };
    replies.add({ status: ms > 98 ? 503 : 200, bodyBytes: 10, waitNs: ms * NS_PER_MS - 2e5, readNs: 1e5, ...opened });
  }
  return {
    ...measured(4, 40, 50),
    durationMs: 2500,
    failures: [],
    replies: httpReplies(replies.tally, latencies),
    ...more,
  };
}

const textOf = (measurement: Measurement): string => {
  const summary = findSummary(measurement);
  return summary ? heyLines(summary).join('\n') : '';
};

const bar = (length: number): string => '■'.repeat(length);

/** As hey 0.1.4 lays it out. */
const golden = `Summary:
  Total:\t2.5000 secs
  Slowest:\t0.1000 secs
  Fastest:\t0.0010 secs
  Average:\t0.0505 secs
  Requests/sec:\t40.0000

  Total data:\t1000 bytes
  Size/request:\t10 bytes

Response time histogram:
  0.001 [1]\t|${bar(4)}
  0.011 [9]\t|${bar(36)}
  0.021 [10]\t|${bar(40)}
  0.031 [10]\t|${bar(40)}
  0.041 [10]\t|${bar(40)}
  0.051 [10]\t|${bar(40)}
  0.060 [10]\t|${bar(40)}
  0.070 [10]\t|${bar(40)}
  0.080 [10]\t|${bar(40)}
  0.090 [10]\t|${bar(40)}
  0.100 [10]\t|${bar(40)}


Latency distribution:
  10% in 0.0100 secs
  25% in 0.0250 secs
  50% in 0.0500 secs
  75% in 0.0750 secs
  90% in 0.0900 secs
  95% in 0.0950 secs
  99% in 0.0990 secs

Details (average, fastest, slowest):
  DNS+dialup:\t0.0015 secs, 0.0010 secs, 0.0020 secs
  DNS-lookup:\t0.0003 secs, 0.0003 secs, 0.0003 secs
  resp wait:\t0.0503 secs, 0.0008 secs, 0.0998 secs
  resp read:\t0.0001 secs, 0.0001 secs, 0.0001 secs

Status code distribution:
  [200]\t98 responses
  [503]\t2 responses
`;

describe('the summary of plain HTTP', () => {
  it('has the sections and columns of hey', () => {
    expect(textOf(figures())).toBe(golden);
  });

  it('adds what went wrong, and what became of a rate', () => {
    const openLoop = {
      scheduledLatencyMs: figures().latencyMs,
      lateSends: 3,
      droppedSends: 5,
      sendLatenessP50Us: 1,
      achievedRate: 38,
    };
    const failures = [
      { kind: 'timeout', count: 7, firstMessage: 'no answer within 5 ms' },
      { kind: 'dropped', count: 5, firstMessage: 'told below' },
    ];
    const level = { mode: 'request-rate', value: 40 } as const;
    expect(textOf(figures({ level, openLoop, failures }))).toBe(`${golden}
Error distribution:
  [7]\ttimeout: no answer within 5 ms

Request rate (response times count from when a request was due):
  Asked:\t40 requests/sec
  Sent:\t38 requests/sec, 3 requests late
  Not sent:\t5 requests, as too many were in flight
`);
  });

  it('puts every reply into one bucket of the histogram, also when all took the same time', () => {
    const latencies = new LatencyHistogram();
    for (let count = 0; count < 9; count++) latencies.record(5 * NS_PER_MS);
    const { histogram } = httpReplies(new ReplyCounter().tally, latencies);
    expect(histogram).toHaveLength(11);
    expect(histogram.reduce((sum, { count }) => sum + count, 0)).toBe(9);
  });

  it('has no line for connections where none was opened, and no figure that is none', () => {
    const text = textOf(figures({ replies: httpReplies(new ReplyCounter().tally, new LatencyHistogram()) }));
    expect(text).not.toMatch(/NaN|Infinity|DNS/);
    expect(text).toContain('Requests/sec:\t0.0000');
  });

  it('is nothing for a model, and plain JSON else', () => {
    expect(findSummary(measured(4, 40, 50))).toBeNull();
    const summary = findSummary(figures());
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });
});
