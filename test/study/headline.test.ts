import { describe, expect, it } from 'vitest';
import { closingLines } from '#headless/closing.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { createHeadline } from '#study/summary/headline.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Goal } from '#study/types.ts';
import { goalOf } from './builders.ts';
import { served, studyOf, type Tried } from './explained.ts';
import { tokensOf } from './token-figures.ts';

const at = '2026-01-01T00:00:09.000Z';
const asServed = { level: 4, throughput: 400, queueMs: 5, computeMs: 3, outsideMs: 1, p99Ms: 12 };
const slow = served(asServed);
const fast = served({ level: 8, throughput: 1000, queueMs: 4, computeMs: 3, outsideMs: 1, p99Ms: 10 });
const both: readonly Tried[] = [
  { assignment: {}, measurements: [slow] },
  { assignment: { instances: 2 }, measurements: [fast] },
];
const decided = (low: number, high: number): readonly StudyRecord[] => [
  { type: 'gain-decided', at, best: 1, gain: { value: 2.4, low, high } },
];
const headline = (tried: readonly Tried[], goal: Goal = goalOf(20), ending: readonly StudyRecord[] = []) =>
  createHeadline(summarize(studyOf(tried, { goal, ending }), 'j'));

describe('the headline', () => {
  it('gives the gain with its interval, within the limits', () => {
    expect(headline(both, goalOf(20), decided(2.2, 2.6))).toEqual({
      tone: 'good',
      text: '2.40 times the throughput of your config within p99 ≤ 20 ms (95 % interval: 2.20 to 2.60).',
    });
    expect(headline(both, goalOf(null), decided(2.2, 2.6)).text).toMatch(/of your config \(95 %/);
  });

  it('is for the original config where the gain may be none, also in a journal that took the other one', () => {
    expect(headline(both, goalOf(20), decided(0.9, 2.6))).toEqual({
      tone: 'same',
      text: 'Your config is as good as anything tried: it gives 400 infer/s at p99 12 ms within p99 ≤ 20 ms.',
    });
    expect(summarize(studyOf(both, { goal: goalOf(20), ending: decided(0.9, 2.6) }), 'j')).toMatchObject({
      verdict: 'nothing-better',
      best: { trial: 0 },
      gain: { ratio: 1, low: 1, high: 1 },
      rejected: {
        trial: 1,
        gain: { ratio: 2.4, low: 0.9, high: 2.6 },
        reason: 'its gain, 2.40× (95 % interval 0.90× to 2.60×), may be none',
      },
    });
  });

  it('says that failed requests are the reason where they are', () => {
    const failures = [{ kind: 'status', count: 25, firstMessage: 'Exceeds maximum queue size' }] as const;
    const failing = { ...slow, errorRate: 0.025, failures };
    expect(headline([{ assignment: {}, measurements: [failing], feasible: false }])).toEqual({
      tone: 'bad',
      text: 'No config that was tried meets the goal. The nearest, your own config, misses it because 2.5 % of requests failed (`Exceeds maximum queue size`), 1 % are allowed.',
    });
    const strict = goalOf(20, { constraints: [{ metric: 'error-rate', relation: '<=', value: 0.03 }] });
    expect(headline([{ assignment: {}, measurements: [failing], feasible: false }], strict).text).toMatch(/meets p99/);
  });

  it('warns where the gain is known by one comparison, or by the search alone', () => {
    expect(headline(both, goalOf(20), decided(0, Number.POSITIVE_INFINITY))).toMatchObject({
      tone: 'unsure',
      text: expect.stringMatching(/^About 2\.40 times .* by a single comparison, so without an interval\.$/),
    });
    expect(headline(both)).toMatchObject({
      tone: 'unsure',
      text: expect.stringMatching(
        /^About 2\.50 times .* by the search alone \(the best at concurrency 8, your config at concurrency 4\): no final has confirmed it yet\.$/,
      ),
    });
  });

  it('names the goodput, its limits, and the levels that are compared', () => {
    const goal = goalOf(null, {
      objectives: [{ metric: 'goodput', weight: 1 }],
      goodput: { ttftNs: 500e6, itlNs: 50e6 },
    });
    const good = (users: number): Tried['measurements'] => [
      { ...served({ ...asServed, level: users, throughput: users }), tokens: tokensOf(users, 20) },
    ];
    const tried: readonly Tried[] = [
      { assignment: {}, measurements: good(4) },
      { assignment: { instances: 2 }, measurements: good(10) },
    ];
    const summary = summarize(studyOf(tried, { goal }), 'j');
    expect(createHeadline(summary).text).toBe(
      'About 2.50 times the goodput of your config (requests within TTFT ≤ 500 ms and ITL ≤ 50 ms), by the search alone (the best at concurrency 10, your config at concurrency 4): no final has confirmed it yet.',
    );
    expect(createHeadline(summarize(studyOf(tried.slice(0, 1), { goal }), 'j')).text).toMatch(
      /it gives a goodput of 0\.4 requests\/s, 200 output tokens\/s at p99 TTFT/,
    );
    const lines = closingLines(summary, {}).join('\n');
    expect(lines).toContain('goodput 1 requests/s (95 %: 0.95 to 1.05); 500 tokens/s');
    expect(lines).toContain('original   goodput 0.4 requests/s');
    expect(lines).not.toContain('infer/s');
  });

  it('says when nothing better was found, nothing met the goal, or nothing was measured', () => {
    expect(headline(both.slice(0, 1))).toEqual({
      tone: 'same',
      text: 'Only your config was measured: it gives 400 infer/s at p99 12 ms within p99 ≤ 20 ms.',
    });
    const slower = [
      ...both.slice(0, 1),
      { assignment: { instances: 2 }, measurements: [{ ...slow, throughput: { value: 90, low: 88, high: 92 } }] },
    ];
    expect(headline(slower).text).toMatch(/^Your config is as good as anything tried: it gives 400 infer\/s/);
    const missed = both.map((tried) => ({ ...tried, feasible: false }));
    expect(headline(missed, goalOf(3))).toMatchObject({
      tone: 'bad',
      text: expect.stringMatching(
        /^No config that was tried meets p99 ≤ 3 ms\. The nearest, trial 1, gives 1,000 infer\/s/,
      ),
    });
    expect(headline([])).toMatchObject({
      tone: 'bad',
      text: expect.stringMatching(/^No result: the run ended before its first trial was done\./),
    });
  });

  it('says when the original config misses the limit that the best keeps', () => {
    const late = [{ ...both[0], feasible: false } as Tried, ...both.slice(1)];
    expect(headline(late, goalOf(11), decided(2.2, 2.6)).text).toMatch(/2\.60\)\. Your config misses that limit\.$/);
  });

  it('is about what the goal is about', () => {
    const about = (metric: string) =>
      headline(both, { ...goalOf(20), objectives: [{ metric, weight: 1 }] }, decided(2.2, 2.6)).text;
    expect(about('latency-p99')).toMatch(/^2\.40 times lower p99 latency than your config within p99 ≤ 20 ms \(/);
    const cost = { currency: 'EUR', name: 'box', per: 'server', perHour: 2, headroom: 0.1, chance: 0.95 } as const;
    const goal = { ...goalOf(20), objectives: [{ metric: 'cost-per-million', weight: 1 }], cost };
    expect(headline(both, goal, decided(2, 2.5)).text).toBe(
      "42 % of your config's cost per million within p99 ≤ 20 ms (95 % interval: 40 % to 50 %).",
    );
  });
});
