import { describe, expect, it } from 'vitest';
import { type Hardware, hardwareFigures, whyNoCost } from '#capacity/hardware.ts';
import { freshState } from '#capacity/state.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { CostTerms } from '#study/records/goal-schema.ts';
import { measured } from '../study/builders.ts';

const perSecond = { value: 100, low: 90, high: 120 };
const terms: CostTerms = {
  currency: 'USD',
  name: 'L4',
  per: 'gpu',
  perHour: 0.9,
  headroom: 0,
  chance: 0.95,
  instanceTypes: [
    { name: 'one', gpus: 1, perHour: 1 },
    { name: 'two', gpus: 2, perHour: 2 },
    { name: 'five', gpus: 5, perHour: 4.5 },
  ],
};
const replicas = { perSecond: 350, headroom: 0, chance: 0.95, spread: 0, replicas: 4, table: [] };

const figures = (
  hardware: Hardware,
  change: Partial<Parameters<typeof hardwareFigures>[0]> = {},
  state = freshState(),
) => hardwareFigures({ perSecond, batch: 1, replicas: null, ...change }, state, hardware);

describe('what a capacity means for the hardware', () => {
  it('is the capacity of each GPU, and what a million inferences cost with as many servers as the rate needs', () => {
    const { gpus, cost, tokens } = figures({ gpus: 2, terms }, { replicas });
    expect(tokens).toBeNull();
    expect(gpus).toEqual({ count: 2, requestsPerSecond: { value: 50, low: 45, high: 60 } });
    // Two GPUs at 0.9 an hour for 360,000 inferences.
    expect(cost).toMatchObject({ perHour: 1.8, perMillion: { value: expect.closeTo(5, 9) } });
    expect(cost?.perMillion.low).toBeLessThan(5);
    expect(cost?.forRate).toEqual({ perHour: 7.2, perMillion: expect.closeTo((7.2 / (350 * 3600)) * 1e6, 9) });
    // One GPU is too few; five hold two replicas, so that two of those serve the rate.
    expect(cost?.instanceTypes).toMatchObject([
      { name: 'two', holds: 1, forRate: { instances: 4, perHour: 8 } },
      { name: 'five', holds: 2, forRate: { instances: 2, perHour: 9 } },
    ]);
  });

  it('counts samples and output tokens where a request has several', () => {
    const state = freshState();
    const tokens = { outputTokensPerSecond: { value: 600, low: 590, high: 610 } };
    state.answer = { ...measured(1, 20, 5), tokens } as Measurement;
    const counted = figures({ gpus: 1, terms }, {}, state);
    expect(counted.tokens).toEqual({ outputPerRequest: 30, outputPerSecond: { value: 3000, low: 2700, high: 3600 } });
    expect(counted.gpus?.outputTokensPerSecond?.value).toBe(3000);
    expect(counted.cost?.perMillionTokens?.value).toBeCloseTo(0.9 / 3600 / 3000 / 1e-6, 9);
    expect(figures({ gpus: 1, terms }, { batch: 8 }).cost?.perMillion.value).toBeCloseTo(2.5 / 8, 9);
  });

  it('is unknown where the GPUs are, unless the whole server is paid for', () => {
    const unknown = { gpus: null, terms };
    expect(figures(unknown)).toMatchObject({ gpus: null, cost: null });
    expect(whyNoCost(unknown)).toContain('--server-gpus');
    expect(whyNoCost({ gpus: 0, terms })).toContain('--instance-type');
    const server: Hardware = { gpus: 0, terms: { ...terms, per: 'server', perHour: 0.7 } };
    expect(figures(server)).toMatchObject({ gpus: null, cost: { perHour: 0.7, instanceTypes: [] } });
    expect(whyNoCost(server)).toBeNull();
    expect(figures({ gpus: 3, terms: null })).toMatchObject({ gpus: { count: 3 }, cost: null });
  });
});
