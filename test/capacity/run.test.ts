import { describe, expect, it } from 'vitest';
import { capacityDocument } from '#capacity/document.ts';
import type { RateMeasurement } from '#capacity/loads.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import type { CapacityQuestion } from '#capacity/question.ts';
import { runCapacity } from '#capacity/run.ts';
import { freshState } from '#capacity/state.ts';
import { verdictText } from '#capacity/words.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { measured } from '../study/builders.ts';
import { type QueueModel, queueLoads, trueCapacity, workloadCapacity, workloadLoads } from './queue.ts';

const head = {
  trituneVersion: '0',
  model: 'm',
  server: { name: 'triton', version: '1', url: 'h:1', emulated: null },
  protocol: 'grpc',
  arrivals: 'poisson',
  commandLine: [],
} as const;

const end = { wasInterrupted: false, seconds: 1, hardware: { gpus: null, terms: null } };

const asked = (model: QueueModel, change: Partial<CapacityQuestion> = {}): CapacityQuestion => ({
  limit: { kind: 'latency', percentile: 99, budgetMs: model.budgetMs },
  batch: 1,
  precision: 0.03,
  mostSeconds: 1000,
  followsHost: false,
  burst: null,
  replicas: null,
  ...change,
});

const run = async (model: QueueModel, seed: number, change: Partial<CapacityQuestion> = {}) => {
  const question = asked(model, change);
  const { loads, clock, seen } = queueLoads(model, seed);
  const state = freshState();
  const events: CapacityEvent[] = [];
  await runCapacity(question, state, { loads, clock, onEvent: (event) => events.push(event) });
  return {
    state,
    events,
    seen,
    document: capacityDocument(head, question, state, end),
  };
};

describe('the search for the capacity', () => {
  const seeds = Array.from({ length: 4 }, (_, index) => index + 1);

  it.each([
    ['one busy server', { servers: 1, serviceMs: 2, budgetMs: 20 }],
    ['several servers near their saturation', { servers: 4, serviceMs: 4, budgetMs: 40 }],
  ])(
    'has the true capacity in its interval as often as it says: %s',
    async (_, model) => {
      const truth = trueCapacity(model);
      let covered = 0;
      for (const seed of seeds) {
        const { state } = await run(model, seed);
        const { value, low, high } = state.posterior?.interval ?? { value: 0, low: 0, high: 0 };
        if (low <= truth && truth <= high) covered++;
        expect(Math.abs(Math.log(value / truth))).toBeLessThan(0.06);
      }
      expect(covered).toBeGreaterThanOrEqual(3);
    },
    300_000,
  );

  it('measures the answer, and what lies beyond it', async () => {
    const { document, events } = await run({ servers: 1, serviceMs: 2, budgetMs: 20 }, 3, { precision: 0.06 });
    expect(document.outcome).toBe('found');
    const [low, high] = [document.capacity?.low ?? 0, document.capacity?.high ?? 0];
    expect((high - low) / (high + low)).toBeLessThan(0.07);
    expect(document.at?.badShare).toBeLessThan(0.05);
    expect(document.cliff.map(({ factor }) => factor)).toEqual([1.05, 1.1, 1.25]);
    const last = document.cliff.at(-1);
    // 1.25 times the capacity is still below the saturation of this queue.
    expect(last?.badShare).toBeGreaterThan(0.05);
    expect(document.saturation).toEqual({ perSecond: expect.closeTo(500, 0), isReached: true });
    expect(events.map(({ type }) => type)).toContain('beyond');
  }, 180_000);

  it.each([15, 18])(
    'says that no rate keeps a budget of %i ms below the service time',
    async (budgetMs) => {
      const { document, events } = await run({ servers: 1, serviceMs: 20, budgetMs }, 1);
      expect(document).toMatchObject({ outcome: 'infeasible', capacity: null, atLeast: null, cliff: [] });
      expect(events.filter(({ type }) => type === 'tried').length).toBeLessThan(14);
    },
    180_000,
  );

  it.each([12, 30, 60, 120])('takes no longer than %i s, and says what that was too short for', async (mostSeconds) => {
    const question = asked({ servers: 1, serviceMs: 20, budgetMs: 200 }, { mostSeconds, precision: 0.005 });
    const { loads, clock } = queueLoads({ servers: 1, serviceMs: 20, budgetMs: 200 }, 1);
    const state = freshState();
    const startNs = clock.nowNs();
    await runCapacity(question, state, { loads, clock, onEvent: () => undefined });
    expect((clock.nowNs() - startNs) / 1e9).toBeLessThanOrEqual(mostSeconds);
    const document = capacityDocument(head, question, state, end);
    expect(document).toMatchObject({ mostSeconds, outcome: 'imprecise' });
    expect(document.cutShort).toContain('search');
    expect(document.notes.join()).toMatch(/the time \(--time-budget, .*\) was up: the search ended there/);
    // Nothing that a person relies on is missing where there is a minute.
    if (mostSeconds >= 60) {
      expect(document.capacity).not.toBeNull();
      expect(document.at).not.toBeNull();
      expect(document.cliff).toHaveLength(3);
    }
  });

  it('counts the reading at the capacity among those that a result needs', async () => {
    const model = { servers: 1, serviceMs: 20, budgetMs: 200 };
    const { document } = await run(model, 1, { mostSeconds: 54, precision: 0.3 });
    expect(document.probes).toHaveLength(4);
    expect(document.outcome).toBe('found');
    expect(document.cutShort).not.toContain('search');
  });

  it('measures beyond the capacity where most windows of the other loads were spoiled', async () => {
    const model = { servers: 1, serviceMs: 20, budgetMs: 200 };
    const { loads, clock } = queueLoads(model, 1);
    const spoiled = async (load: Promise<RateMeasurement>): Promise<RateMeasurement> => {
      const measurement = await load;
      clock.advance(3 * measurement.durationMs);
      return { ...measurement, voidWindows: 3 * measurement.windows };
    };
    const slow: typeof loads = {
      ...loads,
      atRate: (...args) => spoiled(loads.atRate(...args)),
      atLength: (...args) => spoiled(loads.atLength(...args)),
    };
    const question = asked(model, { mostSeconds: 200, precision: 0.2 });
    const state = freshState();
    await runCapacity(question, state, { loads: slow, clock, onEvent: () => undefined });
    expect(state.cliff).toHaveLength(3);
  });

  it('has the capacity of a workload of phases in its interval about as often as it says, whatever its own rate', async () => {
    const model = { servers: 4, serviceMs: 8, budgetMs: 30 };
    const phases = [
      { perSecond: 0.5, seconds: 3 },
      { perSecond: 1, seconds: 2 },
      { perSecond: 2.5, seconds: 1 },
    ];
    const truth = workloadCapacity(model, phases, 0.1);
    const limit = { kind: 'goodput', percentile: 90, limits: 'e2e' } as const;
    const question = asked(model, { limit, precision: 0.05, mostSeconds: 300 });
    let covered = 0;
    for (const from of [0.2, 1, 3]) {
      for (const seed of [1, 2, 3, 4, 5, 6]) {
        const { loads, clock } = workloadLoads(model, phases, from * truth, seed);
        const state = freshState();
        await runCapacity(question, state, { loads, clock, onEvent: () => undefined });
        const { low, high, value } = state.posterior?.interval ?? { low: 0, high: 0, value: 0 };
        if (low <= truth && truth <= high) covered++;
        expect(Math.abs(Math.log(value / truth))).toBeLessThan(0.1);
        expect(state.ending).toBe('precise');
      }
    }
    expect(covered).toBeGreaterThanOrEqual(15);
  });

  it('plays a workload whole or not at all, and knows no capacity where no rate kept the limit', async () => {
    const model = { servers: 1, serviceMs: 20, budgetMs: 30 };
    const { loads, clock, seen } = queueLoads(model, 1);
    const whole: typeof loads = {
      ...loads,
      scouting: { kind: 'rate', perSecond: 45, passSeconds: 8 },
      atRate: (perSecond, _, untilNs) => loads.atRate(perSecond, 'counted', untilNs),
      atLength: (perSecond, untilNs) => loads.atRate(perSecond, 'counted', untilNs),
    };
    const question = asked(model, { mostSeconds: 30 });
    const state = freshState();
    await runCapacity(question, state, { loads: whole, clock, onEvent: () => undefined });
    const document = capacityDocument(head, question, state, end);
    expect(seen).toHaveLength(3);
    expect(document.probes.map(({ seconds }) => seconds)).toEqual([8, 8, 8]);
    expect(document).toMatchObject({ capacity: null, cliff: [], outcome: 'imprecise' });
    expect(verdictText(document)).toMatch(/^the capacity is unknown: even [\d.]+ requests\/s, the lowest rate/);
  });

  it('says what is wrong where no request succeeds', async () => {
    const model = { servers: 1, serviceMs: 20, budgetMs: 30 };
    const { loads, clock } = queueLoads(model, 1);
    const failing = (failures: Measurement['failures']): typeof loads => ({
      ...loads,
      scouting: {
        kind: 'closed-loops',
        measure: async () => ({ ...measured(1, 0, 0), requests: failures.length, failures }),
      },
    });
    const searched = (of: typeof loads) =>
      runCapacity(asked(model), freshState(), { loads: of, clock, onEvent: () => undefined });
    const refusals = [{ kind: 'status', count: 1, firstMessage: 'no such input' }];
    await expect(searched(failing(refusals))).rejects.toMatchObject({
      code: 'SERVER_FAILED',
      message: expect.stringContaining('no such input'),
    });
    await expect(searched(failing([]))).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
  });

  it('gives a lower bound where the load generator is the limit, and tries again where others had its CPU', async () => {
    const model = { servers: 4, serviceMs: 2, budgetMs: 20 };
    const { loads, clock } = queueLoads(model, 1);
    const state = freshState();
    let starved = 0;
    const bent: typeof loads = {
      ...loads,
      atRate: async (perSecond, length) => {
        const measurement = await loads.atRate(perSecond, length);
        const client = { ...measurement.client, bound: true, reason: 'too slow' };
        if (perSecond > 1000) return { ...measurement, client };
        return starved++ === 0 ? { ...measurement, client: { ...client, starved: true } } : measurement;
      },
    };
    const question = asked(model);
    // The first guess is below what the client reaches.
    const slow: typeof loads = { ...bent, scouting: { kind: 'rate', perSecond: 800, passSeconds: 8 } };
    await runCapacity(question, state, { loads: slow, clock, onEvent: () => undefined });
    const document = capacityDocument(head, question, state, end);
    expect(document.outcome).toBe('client-limited');
    expect(document.atLeast).toBeGreaterThan(700);
    expect(document.notes.join()).toContain('the load generator was the limit');
  }, 180_000);

  it('gives the highest rate that met the limit although the load generator delayed requests', async () => {
    const model = { servers: 4, serviceMs: 2, budgetMs: 20 };
    const { loads, clock } = queueLoads(model, 1);
    const state = freshState();
    const busy: typeof loads = {
      ...loads,
      scouting: { kind: 'rate', perSecond: 800, passSeconds: 8 },
      atRate: async (perSecond, length) => {
        const measurement = await loads.atRate(perSecond, length);
        return { ...measurement, client: { ...measurement.client, bound: true, starved: true, reason: 'busy' } };
      },
    };
    const question = asked(model);
    await runCapacity(question, state, { loads: busy, clock, onEvent: () => undefined });
    const document = capacityDocument(head, question, state, end);
    expect(document).toMatchObject({ outcome: 'client-limited', capacity: null, probes: [] });
    expect(document.atLeast).toBe(state.clientLimit?.perSecond);
    expect(verdictText(document)).toMatch(/^capacity of at least [\d,]+ requests\/s with p99 within 20 ms/);
  });

  it('finds the base rate of a burst, and a higher one where it may recover', async () => {
    const model = { servers: 1, serviceMs: 2, budgetMs: 20 };
    const burst = { factor: 2, seconds: 5 };
    const kept = await run(model, 5, { burst: { ...burst, recoverSeconds: null } });
    const base = kept.document.burst?.basePerSecond?.value ?? 0;
    const capacity = kept.document.capacity?.value ?? 0;
    expect(base / capacity).toBeGreaterThan(0.44);
    expect(base / capacity).toBeLessThan(0.58);
    const over = await run(model, 5, { burst: { ...burst, recoverSeconds: 5 } });
    const { value, low, high } = over.document.burst?.basePerSecond ?? { value: 0, low: 0, high: 0 };
    expect(value).toBeGreaterThan(1.1 * base);
    // Of 40 played bursts on this rate half are recovered from in time.
    expect(low).toBeLessThan(332);
    expect(high).toBeGreaterThan(332);
    expect((high - low) / 2 / value).toBeLessThan(0.05);
    expect(kept.document.burst?.plays.every(({ seconds }) => seconds >= 5)).toBe(true);
  }, 90_000);
});
