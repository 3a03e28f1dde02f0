import { describe, expect, it } from 'vitest';
import { predictSeries } from '#app/series-law.ts';
import type { TokenSeries } from '#queueing/calibration/token-series.ts';
import { simulateContinuous } from '#queueing/continuous/simulate-continuous.ts';

const MS = 1e6;
const [inputTokens, outputTokens] = [1024, 256];
const law = {
  baseNs: 3 * MS,
  floorNs: 6 * MS,
  prefillBaseNs: 4 * MS,
  perPrefillTokenNs: 25_000,
  perDecodingNs: 60_000,
  perContextTokenNs: 40,
  perPrefillPairNs: 2,
  cv: 0.03,
};
const meanMs = (ns: readonly number[]): number => ns.reduce((sum, value) => sum + value, 0) / ns.length / MS;

/**
 * What a benchmark of an engine would state: ten requests for each of its concurrency, from an idle
 * engine.
 */
const measure = (kvCacheTokens: number | null): TokenSeries => ({
  inputTokens,
  outputTokens,
  rows: [4, 8, 16, 32, 64, 128].map((concurrency) => {
    const fixed = (tokens: number) => ({ mean: 0.9 * tokens, std: 0.058 * tokens, min: 0.8 * tokens, max: tokens });
    const { ttftNs, tpotNs } = simulateContinuous(
      { maxSequences: 1024, maxStepTokens: 8192, chunksPrefill: true, kvCacheTokens, cachesPrefixes: false },
      law,
      { kind: 'closed', concurrency, roundTripNs: 2 * MS, jitterNs: MS },
      { input: fixed(inputTokens), output: fixed(outputTokens), cachedShare: 0 },
      { warmUpRequests: 0, requests: 10 * concurrency, seed: 7 },
    );
    return { concurrency, ttftMs: meanMs(ttftNs), tpotMs: meanMs(tpotNs) };
  }),
});

describe('the law of a series', () => {
  it('predicts the rows that it was not fitted to', () => {
    const { fitted, rows, medianMiss } = predictSeries(measure(null), [4, 16, 128]);
    expect(rows.map(({ row, isUsed }) => [row.concurrency, isUsed])).toEqual([
      [4, true],
      [8, false],
      [16, true],
      [32, false],
      [64, false],
      [128, true],
    ]);
    expect(fitted.policy.kvCacheTokens).toBeNull();
    expect(medianMiss?.tpot).toBeLessThan(0.03);
    expect(medianMiss?.ttft).toBeLessThan(0.1);
  });

  it('finds the KV cache that keeps sequences waiting', () => {
    const { fitted, rows } = predictSeries(measure(50_000), [4, 16, 128]);
    expect(fitted.policy.kvCacheTokens).toBeGreaterThan(35_000);
    expect(fitted.policy.kvCacheTokens).toBeLessThan(70_000);
    const last = rows.at(-1);
    expect(Number(last?.predicted.ttftMs) / Number(last?.row.ttftMs)).toBeCloseTo(1, 0);
  });

  it('has nothing to compare with if every row was fitted', () => {
    expect(predictSeries(measure(null), [4, 8, 16, 32, 64, 128]).medianMiss).toBeNull();
  });
});
