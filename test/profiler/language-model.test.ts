import { describe, expect, it } from 'vitest';
import { promptWindows } from '#app/traffic/prompt-windows.ts';
import type { Random } from '#base/random.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import type { Interval } from '#stats/interval.ts';
import { aRequestSet, SimulatedClock } from '../loadgen/simulation.ts';
import { type LanguageModel, SimulatedLanguageModel } from './language-model.ts';
import { idleClient } from './simulate.ts';

/** 20 ms a step and half a millisecond more for each sequence; a prompt takes 30 ms. */
const model: LanguageModel = {
  stepMs: (running) => 20 + 0.5 * running,
  promptMs: 30,
  mostRunning: 64,
  outputTokens: () => 100,
  seed: 1,
};

/** 20 to 180 tokens, most of them few. */
const uneven = (random: Random): number => Math.round(20 + 160 * random.float() ** 2);

async function measure(change: Partial<LanguageModel>, level: LevelOptions['level'], more: Partial<LevelOptions> = {}) {
  const clock = new SimulatedClock();
  const transport = new SimulatedLanguageModel(clock, { ...model, ...change });
  const measurement = await measureLevel({
    transport,
    clock,
    level,
    requests: aRequestSet,
    stats: null,
    signal: new AbortController().signal,
    percentile: 90,
    precision: 0.05,
    watchClient: () => idleClient,
    windows: promptWindows,
    drainMs: 600_000,
    ...more,
  });
  return { measurement, tokens: measurement.tokens as TokenFigures, seconds: clock.nowNs() / 1e9 };
}

const inFlight = (value: number) => ({ mode: 'concurrency', value }) as const;
const rate = (value: number) => ({ mode: 'request-rate', value }) as const;

describe('a language model in virtual time', () => {
  it('is measured in a few replies one at a time, to the exact figures', async () => {
    const { tokens, measurement, seconds } = await measure({}, inFlight(1));
    expect(tokens.ttftMs.p50).toBeCloseTo(50.5, 0);
    expect(tokens.itlMs.p99).toBeCloseTo(20.5, 1);
    expect(tokens.tpotMs.avg).toBeCloseTo(20.5, 3);
    expect(tokens.outputTokensPerSecondPerUser).toBeCloseTo(1000 / 20.5, 3);
    const perSecond = 100 / (0.0505 + 99 * 0.0205);
    expect(tokens.outputTokensPerSecond.value).toBeCloseTo(perSecond, 3);
    expect(measurement.stable).toBe(true);
    // A reply takes 2.1 s: the warm-up has a dozen, the windows ten each.
    expect(seconds).toBeLessThan(140);
  });

  it('counts none of the replies that began all at once', async () => {
    const { tokens } = await measure({ outputTokens: uneven }, inFlight(32));
    // Of the first 32 prompts the last waits for all the others: 32 × 30 ms.
    expect(tokens.ttftMs.max).toBeLessThan(800);
    expect(tokens.ttftMs.p50).toBeLessThan(150);
  });

  it('tells a rate its time to first token from the time due, and no luck of arrivals in tokens per second', async () => {
    const scheduleAt = (perSecond: number) => ({ kind: 'poisson', perSecond, seed: 3 }) as const;
    const { tokens, measurement } = await measure({ outputTokens: uneven }, rate(4), { scheduleAt });
    const { budget, scheduledTtftMs } = tokens;
    expect(scheduledTtftMs?.p90).toBeGreaterThan(0);
    expect(budget.ttftMs.value).toBeCloseTo(scheduledTtftMs?.p90 ?? 0, 5);
    expect(measurement.throughput.value).toBeLessThanOrEqual(4);
    expect(tokens.outputTokensPerSecond.value / tokens.outputTokens.mean).toBeCloseTo(measurement.throughput.value, 0);
  });

  it('knows its rate by a number of requests that all end at once', async () => {
    const stability = { kind: 'request-count', requests: 160 } as const;
    const { tokens } = await measure({ promptMs: 0 }, inFlight(16), { stability });
    const { value, low, high } = tokens.outputTokensPerSecond;
    expect(value).toBeCloseTo((16 * 1000) / 28, 5);
    expect(high - low).toBeLessThan(0.01 * value);
  });

  it('counts as good what keeps the limits', async () => {
    const limits = { ttftNs: 100e6, itlNs: 60e6 };
    const { tokens, measurement } = await measure({ outputTokens: uneven }, inFlight(8), { limits });
    const share = (tokens.goodput?.value ?? 0) / measurement.throughput.value;
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThan(0.95);
    const { tokens: all } = await measure({}, inFlight(1), { limits });
    expect(all.goodput?.value).toBeCloseTo(all.outputTokensPerSecond.value / 100, 5);
  });

  /**
   * Each with the share of the runs whose interval is to hold the truth: how busy a server is at a
   * rate wanders slowly, which short runs see little of.
   */
  const figures: readonly (readonly [name: string, of: (measurement: Measurement) => Interval, share: number])[] = [
    ['requests per second', ({ throughput }) => throughput, 0.9],
    ['output tokens per second', ({ tokens }) => (tokens as TokenFigures).outputTokensPerSecond, 0.9],
    ['p90 latency', ({ budgetLatencyMs }) => budgetLatencyMs, 0.9],
    ['p90 TTFT', ({ tokens }) => (tokens as TokenFigures).budget.ttftMs, 0.9],
    ['p90 TPOT', ({ tokens }) => (tokens as TokenFigures).budget.tpotMs, 0.75],
    ['p90 ITL', ({ tokens }) => (tokens as TokenFigures).budget.itlMs, 0.75],
  ];

  it.each([
    ['48 in flight', inFlight(48)],
    ['3 requests a second', rate(3)],
  ] as const)(
    'has intervals that hold the truth, with %s',
    async (_, level) => {
      const poisson = (seed: number) => (perSecond: number) => ({ kind: 'poisson', perSecond, seed }) as const;
      const long = { ...promptWindows, minWindowMs: 100_000, maxWindowMs: 100_000, minWindows: 12, maxWindows: 12 };
      const truth = await measure({ outputTokens: uneven, seed: 99 }, level, { windows: long, scheduleAt: poisson(5) });
      const runs = await Promise.all(
        Array.from({ length: 20 }, (__, seed) =>
          measure({ outputTokens: uneven, seed }, level, { scheduleAt: poisson(seed) }),
        ),
      );
      for (const [name, of, share] of figures) {
        const { value } = of(truth.measurement);
        const held = runs.filter(({ measurement }) => of(measurement).low <= value && value <= of(measurement).high);
        expect(held.length, name).toBeGreaterThanOrEqual(share * runs.length);
      }
      // Replies take two to three seconds.
      for (const { seconds } of runs) expect(seconds).toBeLessThan(150);
    },
    90_000,
  );
});
