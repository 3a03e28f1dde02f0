import { expect, it } from 'vitest';
import { readTokenFigure } from '#perfmodel/continuous/token-figures.ts';
import type { Measurement } from '#profiler/measurement.ts';

const times = (p99: number) => ({ avg: 10, p50: 9, p90: 15, p95: 20, p99, max: 50, min: 5, std: 3 });
const budget = { value: 40, low: 30, high: 60 };
const tokens = {
  ttftMs: times(200),
  itlMs: times(40),
  tpotMs: times(0),
  budget: { ttftMs: { value: 200, low: 190, high: 240 }, itlMs: budget, tpotMs: { value: 0, low: 0, high: 0 } },
} as unknown as NonNullable<Measurement['tokens']>;

it('high percentiles are as uncertain as the budgeted one; means and medians are read exactly', () => {
  expect(readTokenFigure('itl', { tokens })).toEqual(budget);
  expect(readTokenFigure('itl-p99', { tokens })).toEqual(budget);
  expect(readTokenFigure('itl-p95', { tokens })).toEqual({ value: 20, low: 15, high: 30 });
  expect(readTokenFigure('itl-p50', { tokens })).toEqual({ value: 9, low: 9, high: 9 });
  expect(readTokenFigure('ttft-avg', { tokens })).toEqual({ value: 10, low: 10, high: 10 });
  expect(readTokenFigure('tpot-p95', { tokens })).toEqual({ value: 20, low: 20, high: 20 });
  expect(readTokenFigure('itl-p99', {})).toBeUndefined();
});
