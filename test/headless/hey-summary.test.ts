import { describe, expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../src/base/units.ts';
import { heyLines, summaryOf } from '../../src/headless/hey-summary.ts';
import type { PlainHttpFigures } from '../../src/loadgen/plain-http/run.ts';
import { ReplyTally } from '../../src/loadgen/plain-http/tally.ts';
import { LatencyHistogram } from '../../src/stats/histogram.ts';

/** 100 replies: 1, 2, … 100 ms; 98 good, of 10 bytes each. */
function figures(more: Partial<PlainHttpFigures> = {}): PlainHttpFigures {
  const latencies = new LatencyHistogram();
  const replies = new ReplyTally();
  for (let ms = 1; ms <= 100; ms++) {
    latencies.record(ms * NS_PER_MS);
    replies.count(ms > 98 ? 503 : 200, 10);
    replies.replied({ marshalNs: 0, sendNs: 1e5, waitNs: ms * NS_PER_MS - 3e5, receiveNs: 6e4, unmarshalNs: 4e4 });
  }
  replies.lookedUp(3e5);
  replies.connected(1e6);
  replies.connected(2e6);
  return {
    totalNs: 2.5 * NS_PER_S,
    latencies,
    fromSending: latencies,
    replies,
    failures: [],
    sends: null,
    ended: 'done',
    ...more,
  };
}

const bar = (length: number): string => '■'.repeat(length);

/** As hey 0.1.4 lays it out. */
const golden = `
Summary:
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
    expect(heyLines(summaryOf(figures(), undefined)).join('\n')).toBe(golden);
  });

  it('adds what went wrong, and what became of a rate', () => {
    const sends = { sent: 95, late: 3, dropped: 5, lateness: new LatencyHistogram() };
    const failures = [{ kind: 'timeout', count: 7, firstMessage: 'no answer within 5 ms' } as const];
    expect(heyLines(summaryOf(figures({ sends, failures }), 40)).join('\n')).toBe(`${golden}
Error distribution:
  [7]\ttimeout: no answer within 5 ms

Request rate (response times count from when a request was due):
  Asked:\t40 requests/sec
  Sent:\t95 requests, 3 of them late
  Not sent:\t5 requests, as too many were in flight
`);
  });

  it('puts every reply into one bucket of the histogram, also when all took the same time', () => {
    const latencies = new LatencyHistogram();
    for (let count = 0; count < 9; count++) latencies.record(5 * NS_PER_MS);
    const { histogram } = summaryOf(figures({ latencies }), undefined);
    expect(histogram).toHaveLength(11);
    expect(histogram.reduce((sum, { count }) => sum + count, 0)).toBe(9);
  });

  it('is all zeros where nothing came back', () => {
    const nothing = { latencies: new LatencyHistogram(), replies: new ReplyTally() };
    const text = heyLines(summaryOf(figures(nothing), undefined)).join('\n');
    expect(text).not.toMatch(/NaN|Infinity/);
    expect(text).toContain('Requests/sec:\t0.0000');
  });

  it('is plain JSON', () => {
    const summary = summaryOf(figures(), undefined);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });
});
