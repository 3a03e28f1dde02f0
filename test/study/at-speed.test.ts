import { describe, expect, it } from 'vitest';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import { atSpeed } from '#study/speed/at-speed.ts';
import { measured } from './builders.ts';
import { tokensOf } from './token-figures.ts';

const sure = (value: number) => ({ value, low: value, high: value });
const tokens: TokenFigures = { ...tokensOf(4, 20), scheduledTtftMs: tokensOf(5, 20).ttftMs };
const of = (level: LoadLevel): Measurement => measured(4, 1.5, 2600, { level, tokens });
const tokensAt = (measurement: Measurement, own = sure(0.5), speed = 1): TokenFigures =>
  atSpeed(measurement, own, speed).tokens as TokenFigures;

describe('the figures of tokens at another speed of the machine', () => {
  it('have shorter times and more tokens per second on a machine of twice the speed, in a closed loop', () => {
    const faster = tokensAt(of({ mode: 'concurrency', value: 4 }));
    for (const name of ['ttftMs', 'itlMs', 'tpotMs'] as const) {
      expect(faster[name].avg).toBeCloseTo(tokens[name].avg / 2);
      expect(faster[name].p99).toBeCloseTo(tokens[name].p99 / 2);
      expect(faster.budget[name].value).toBeCloseTo(tokens.budget[name].value / 2);
    }
    expect(faster.scheduledTtftMs?.p99).toBeCloseTo((tokens.scheduledTtftMs?.p99 as number) / 2);
    expect(faster.outputTokensPerSecond.value).toBeCloseTo(2 * tokens.outputTokensPerSecond.value);
    expect(faster.totalTokensPerSecond.value).toBeCloseTo(2 * tokens.totalTokensPerSecond.value);
    expect(faster.outputTokensPerSecondPerUser).toBeCloseTo(2 * tokens.outputTokensPerSecondPerUser);
    expect(faster.goodput?.value).toBeCloseTo(2 * (tokens.goodput?.value as number));
  });

  it('have the tokens per second that were asked for at a rate, each token sooner', () => {
    const faster = tokensAt(of({ mode: 'request-rate', value: 1.5 }));
    expect(faster.outputTokensPerSecond).toEqual(tokens.outputTokensPerSecond);
    expect(faster.totalTokensPerSecond).toEqual(tokens.totalTokensPerSecond);
    expect(faster.goodput).toEqual(tokens.goodput);
    expect(faster.itlMs.avg).toBeCloseTo(tokens.itlMs.avg / 2);
    expect(faster.outputTokensPerSecondPerUser).toBeCloseTo(2 * tokens.outputTokensPerSecondPerUser);
  });

  it('keep what the speed does not change: lengths, counts and shares', () => {
    const { inputTokens, outputTokens, cachedShare, countedBy, cutOff } = tokens;
    expect(tokensAt(of({ mode: 'concurrency', value: 4 }))).toMatchObject({
      inputTokens,
      outputTokens,
      cachedShare,
      countedBy,
      cutOff,
    });
  });

  it('are less sure where the speed is', () => {
    const level = { mode: 'concurrency', value: 4 } as const;
    const width = ({ low, high }: { low: number; high: number }): number => Math.log(high / low);
    const [certain, doubtful] = [tokensAt(of(level)), tokensAt(of(level), { value: 0.5, low: 0.4, high: 0.625 })];
    expect(width(certain.budget.itlMs)).toBeCloseTo(width(tokens.budget.itlMs));
    expect(width(doubtful.budget.itlMs)).toBeGreaterThan(1.5 * width(certain.budget.itlMs));
    expect(width(doubtful.outputTokensPerSecond)).toBeGreaterThan(1.5 * width(certain.outputTokensPerSecond));
  });

  it('are the same at the same speed', () => {
    const measurement = of({ mode: 'concurrency', value: 4 });
    expect(atSpeed(measurement, sure(1), 1)).toBe(measurement);
  });
});
