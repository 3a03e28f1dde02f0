import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sleepingAlarm } from '#base/alarm.ts';
import { localFlow } from '#loadgen/flow.ts';
import { createPassPacer } from '#loadgen/pacers.ts';
import type { Batch } from '#loadgen/recorder.ts';
import { requestTurns } from '#loadgen/request-turns.ts';
import type { InferRequest, Transport } from '#loadgen/types.ts';
import { aPlan, classedSet, nameOf } from './request-classes.ts';
import { SimulatedClock, SimulatedServer } from './simulation.ts';

const transport: Transport = {
  prepare: (request) => ({ request }),
  send: () => undefined,
  close: async () => undefined,
};

const plan = aPlan(
  [
    [0, 'b'],
    [1, 'a'],
    [1, 'b'],
    [5, 'b'],
  ],
  10,
);
const set = classedSet([
  ['a', 2],
  ['b', 2],
]);

describe('a plan of arrivals', () => {
  it('is played pass after pass', () => {
    const pacer = createPassPacer(plan);
    const dues = Array.from({ length: 9 }, (_, sent) => {
      const next = pacer(0, sent);
      return next === 'stop' ? Number.NaN : next.waitNs / 1e6;
    });
    expect(dues).toEqual([0, 1, 1, 5, 10, 11, 11, 15, 20]);
  });

  it.each([
    ['nothing in it', { ...plan, arrivalsNs: new Float64Array() }, /is empty/],
    ['a time that is none', { ...plan, arrivalsNs: Float64Array.of(0, Number.NaN) }, /wrong time at 2/],
    ['times that go back', { ...plan, arrivalsNs: Float64Array.of(3, 2) }, /arrival 2 of the plan is before/],
    ['an arrival beyond its end', { ...plan, durationNs: 4e6 }, /does not end within/],
    ['no length', { ...plan, arrivalsNs: Float64Array.of(0), durationNs: 0 }, /does not end within/],
  ])('with %s is refused', (_, wrong, message) => {
    expect(() => createPassPacer(wrong)).toThrow(message);
  });
});

describe('requestTurns', () => {
  it('gives each arrival the next request of its class, over all passes', () => {
    const turns = requestTurns(transport, set, undefined, plan);
    const given = Array.from({ length: 8 }, (_, turn) => nameOf(turns.nextRequest(turn).request));
    expect(given).toEqual(['b0', 'a0', 'b1', 'b0', 'b1', 'a1', 'b0', 'b1']);
    expect(Array.from({ length: 5 }, (_, turn) => turns.classOf?.(turn))).toEqual([1, 0, 1, 1, 1]);
  });

  it('gives several threads together what one gives', () => {
    const cases = fc.record({
      arrivals: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 }),
      counts: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
      of: fc.integer({ min: 1, max: 5 }),
      planned: fc.boolean(),
    });
    fc.assert(
      fc.property(cases, ({ arrivals, counts: [a, b, c], of, planned }) => {
        const every = classedSet([
          ['a', a],
          ['b', b],
          ['c', c],
        ]);
        const ofAll = {
          ...aPlan(
            arrivals.map((name, ms) => [ms, name]),
            20,
          ),
          classes: ['a', 'b', 'c'],
        };
        const classOf = Uint16Array.from(arrivals, (name) => 'abc'.indexOf(name));
        const played = planned ? { ...ofAll, classOf } : undefined;
        const one = requestTurns(transport, every, undefined, played);
        const parts = Array.from({ length: of }, (_, index) => requestTurns(transport, every, { index, of }, played));
        for (let turn = 0; turn < 60; turn++) {
          const part = parts[turn % of];
          const own = Math.floor(turn / of);
          const request = one.nextRequest(turn).request;
          expect(part?.nextRequest(own).request).toBe(request);
          expect(part?.classOf?.(own)).toBe(one.classOf?.(turn));
          expect(nameOf(request)[0]).toBe('abc'[one.classOf?.(turn) ?? -1]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('refuses a plan of other classes', () => {
    expect(() => requestTurns(transport, classedSet([['a', 1]]), undefined, plan)).toThrow(/has the classes a, b/);
  });
});

describe('a flow by a plan with classes', () => {
  const run = async (executionNs: (request: InferRequest) => number, maxInFlight = 100, ms = 100) => {
    const clock = new SimulatedClock();
    const server = new SimulatedServer(clock, {
      instances: 100,
      executionNs: (_, __, [request]) => executionNs(request as InferRequest),
    });
    const limited = { ...set, classes: set.classes.map((each) => ({ ...each, limits: { e2eNs: 2e6 } })) };
    const flow = localFlow(
      {
        requests: limited,
        level: { mode: 'request-rate', value: 400 },
        schedule: { kind: 'arrivals', plan },
        openLoop: { maxInFlight },
      },
      { transport: server, clock, alarm: sleepingAlarm(clock) },
    );
    const batches: Batch[] = [];
    flow.record({ lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 }, (batch) => batches.push(batch), 0);
    flow.start();
    await clock.sleep(ms - 0.5);
    await flow.drain(1000);
    await flow.closeBatch();
    return { batch: batches[0] as Batch, tally: await flow.takeTally() };
  };

  it('counts each class by itself', async () => {
    const { batch } = await run((request) =>
      nameOf(request).startsWith('a') ? 3e6 : nameOf(request) === 'b0' ? 1e6 : 2.5e6,
    );
    const [a, b] = batch.classes ?? [];
    expect([batch.succeeded, batch.good]).toEqual([40, 15]);
    expect([a?.latencies.count, a?.good, a?.latencies.meanNs]).toEqual([10, 0, 3e6]);
    // Thirty of the other, b0 and b1 in turn.
    expect([b?.latencies.count, b?.good, b?.latencies.maxNs]).toEqual([30, 15, 2.5e6]);
  });

  it('counts the dropped ones by class, whose turns have passed', async () => {
    // Of two at once the second is dropped.
    const sent: string[] = [];
    const { batch, tally } = await run((request) => {
      sent.push(nameOf(request));
      return 1e6 / 2;
    }, 1);
    expect([tally?.dropped, tally?.droppedOf]).toEqual([10, [undefined, 10]]);
    expect(batch.classes?.map(({ latencies }) => latencies.count)).toEqual([10, 20]);
    // Three a pass: the second of them is never sent, and so each later one is another than without
    // drops.
    expect(sent.filter((name) => name.startsWith('b')).slice(0, 4)).toEqual(['b0', 'b0', 'b1', 'b1']);
  });
});
