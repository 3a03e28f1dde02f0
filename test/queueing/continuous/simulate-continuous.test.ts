import { mean, standardDeviation } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { ContinuousBatcher } from '#queueing/continuous/continuous-batcher.ts';
import { createSequences, type SequenceLengths, type TokenLengths } from '#queueing/continuous/lengths.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import { simulateContinuous } from '#queueing/continuous/simulate-continuous.ts';
import { type StepLaw, stepNs } from '#queueing/continuous/step-law.ts';
import type { Traffic } from '#queueing/traffic.ts';

const law: StepLaw = {
  baseNs: 3e6,
  floorNs: 6e6,
  prefillBaseNs: 0,
  perPrefillTokenNs: 40e3,
  perDecodingNs: 60e3,
  perContextTokenNs: 30,
  perPrefillPairNs: 5,
  cv: 0,
};
const policy = (changes: Partial<ContinuousPolicy> = {}): ContinuousPolicy => ({
  maxSequences: 32,
  maxStepTokens: 1024,
  chunksPrefill: true,
  kvCacheTokens: null,
  cachesPrefixes: false,
  ...changes,
});
const always = (tokens: number): TokenLengths => ({ mean: tokens, std: 0, min: tokens, max: tokens });
const varied: SequenceLengths = {
  input: { mean: 500, std: 200, min: 100, max: 1500 },
  output: { mean: 60, std: 30, min: 5, max: 200 },
  cachedShare: 0,
};
const closed = (concurrency: number): Traffic => ({ kind: 'closed', concurrency });

describe('lengths', () => {
  it('are drawn with the mean, the deviation and the ends that they are to have', () => {
    for (const input of [
      varied.input,
      { mean: 300, std: 500, min: 1, max: 4000 },
      { mean: 5, std: 2.9, min: 0, max: 10 },
    ]) {
      const draw = createSequences({ ...varied, input }, seededRandom(3));
      const drawn = Array.from({ length: 20_000 }, () => draw().inputTokens);
      expect(mean(drawn) / input.mean).toBeCloseTo(1, 1);
      expect(standardDeviation(drawn) / input.std).toBeCloseTo(1, 1);
      expect(Math.min(...drawn)).toBeGreaterThanOrEqual(Math.max(1, input.min));
      expect(Math.max(...drawn)).toBeLessThanOrEqual(input.max);
    }
    expect(createSequences({ ...varied, input: always(7), cachedShare: 0.5 }, seededRandom(1))()).toMatchObject({
      inputTokens: 7,
      cachedTokens: 3,
    });
  });
});

describe('a closed loop', () => {
  it('of one client takes the time of its steps', () => {
    const lengths = { input: always(100), output: always(11), cachedShare: 0 };
    const traffic: Traffic = { kind: 'closed', concurrency: 1, roundTripNs: 2e6 };
    const found = simulateContinuous(policy(), law, traffic, lengths, { warmUpRequests: 1, requests: 5, seed: 1 });
    const nothing = { prefillTokens: 0, prefillPairs: 0, decoding: 0, contextTokens: 0 };
    const promptNs = stepNs(law, { ...nothing, prefillTokens: 100, prefillPairs: 5000 });
    const stepsNs = Array.from({ length: 10 }, (_, step) =>
      stepNs(law, { ...nothing, decoding: 1, contextTokens: 101 + step }),
    );
    const decodingNs = stepsNs.reduce((sum, ns) => sum + ns);
    for (const ns of found.ttftNs) expect(ns).toBeCloseTo(2e6 + promptNs, 3);
    for (const ns of found.tpotNs) expect(ns).toBeCloseTo(decodingNs / 10, 3);
    for (const ns of found.endToEndNs) expect(ns).toBeCloseTo(2e6 + promptNs + decodingNs, 3);
    expect(found.itl.meanNs / (decodingNs / 10)).toBeCloseTo(1, 9);
    expect(found.itl.quantileNs(0.99) / (stepsNs[9] as number)).toBeCloseTo(1, 2);
    const perSecond = 1e9 / (2e6 + promptNs + decodingNs);
    expect(found.requestsPerSecond / perSecond).toBeCloseTo(1, 9);
    expect(found.outputTokensPerSecond / (11 * perSecond)).toBeCloseTo(1, 9);
    expect(found.totalTokensPerSecond / (111 * perSecond)).toBeCloseTo(1, 9);
    expect(Object.values(found.parts).reduce((sum, share) => sum + share)).toBeCloseTo(1, 9);
  });

  it('has the figures that it has without stretches', () => {
    for (const [changes, concurrency] of [
      [{}, 24],
      [{ chunksPrefill: false }, 24],
      [{ kvCacheTokens: 8000 }, 24],
      [{ maxSequences: 8 }, 24],
    ] as const) {
      const found = simulateContinuous(policy(changes), law, closed(concurrency), varied, {
        warmUpRequests: 0,
        requests: 150,
        seed: 7,
      });
      const { ttftNs, gapsNs, preemptions } = stepByStep(policy(changes), concurrency, 150, 7);
      expect(sorted(found.ttftNs).slice(0, 120)).toEqual(sorted(ttftNs).slice(0, 120));
      expect(found.itl.total).toBe(gapsNs.length);
      expect(found.itl.meanNs / mean(gapsNs)).toBeCloseTo(1, 6);
      for (const share of [0.1, 0.5, 0.9, 0.99]) {
        const exact = sorted(gapsNs)[Math.ceil(share * gapsNs.length) - 1] as number;
        expect(Math.abs(found.itl.quantileNs(share) / exact - 1)).toBeLessThan(0.03);
      }
      expect(found.preemptionsPerSecond > 0).toBe(preemptions > 0);
      expect(preemptions > 0).toBe('kvCacheTokens' in changes);
    }
  });

  it('keeps Little’s law, and waits above the most sequences', () => {
    const options = { warmUpRequests: 100, requests: 400, seed: 2 };
    const full = simulateContinuous(policy(), law, closed(32), varied, options);
    const over = simulateContinuous(policy(), law, closed(64), varied, options);
    expect((full.requestsPerSecond * mean([...full.endToEndNs])) / 1e9 / 32).toBeCloseTo(1, 1);
    expect(over.runningSequences).toBeCloseTo(32, 0);
    expect(over.requestsPerSecond / full.requestsPerSecond).toBeCloseTo(1, 1);
    expect(mean([...over.ttftNs]) / mean([...full.ttftNs])).toBeGreaterThan(5);
  });
});

describe('a rate', () => {
  it('is served below capacity, and waits without end above it', () => {
    const at = (perSecond: number, distribution: 'constant' | 'poisson') =>
      simulateContinuous(policy(), law, { kind: 'rate', perSecond, distribution }, varied, {
        warmUpRequests: 50,
        requests: 300,
        seed: 5,
      });
    const [quiet, busy, over] = [at(2, 'constant'), at(20, 'poisson'), at(60, 'constant')];
    expect(quiet.requestsPerSecond / 2).toBeCloseTo(1, 1);
    expect(busy.requestsPerSecond / 20).toBeCloseTo(1, 0);
    expect(mean([...busy.ttftNs])).toBeGreaterThan(mean([...quiet.ttftNs]));
    expect(over.requestsPerSecond).toBeLessThan(40);
    expect(over.ttftNs.at(-1)).toBeGreaterThan(3 * (over.ttftNs[0] as number));
  });
});

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** A closed loop whose steps are taken one by one, with every gap of every sequence. */
function stepByStep(given: ContinuousPolicy, concurrency: number, requests: number, seed: number) {
  const batcher = new ContinuousBatcher(given, law);
  const draw = createSequences(varied, seededRandom(seed + 1));
  const sentNs: number[] = [];
  const lastNs = new Map<number, number>();
  const [ttft, ttftNs, gapsNs]: [number[], number[], number[]] = [[], [], []];
  let nowNs = 0;
  const send = (): void => {
    sentNs.push(nowNs);
    batcher.enqueue(draw());
  };
  for (let client = 0; client < concurrency; client++) send();
  while (ttftNs.length < requests) {
    const step = batcher.step(nowNs);
    if (!step) throw new Error('nothing to do');
    nowNs = step.endNs;
    for (const id of step.emitted) {
      const before = lastNs.get(id);
      if (before === undefined) ttft[id] = nowNs - (sentNs[id] as number);
      else gapsNs.push(nowNs - before);
      lastNs.set(id, nowNs);
    }
    for (const id of step.finished) {
      ttftNs.push(ttft[id] as number);
      send();
    }
  }
  return { ttftNs, gapsNs, preemptions: batcher.preemptions };
}
