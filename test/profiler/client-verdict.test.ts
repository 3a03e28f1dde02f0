import { describe, expect, it } from 'vitest';
import { type Alarm, sleepingAlarm } from '#base/alarm.ts';
import { type ClientUse, type ClientWatch, watchClient } from '#loadgen/client/cost.ts';
import { unheldRate } from '#profiler/client/unheld-rate.ts';
import { SimulatedClock, SimulatedServer } from '../loadgen/simulation.ts';
import { idleClient, measure } from './simulate.ts';

describe('the verdict on the client', () => {
  const using = (use: Partial<ClientUse>) => ({
    watchClient: (): ClientWatch => ({ ...idleClient, read: () => ({ ...idleClient.read(), ...use }) }),
  });

  it.each([
    ['its CPU', { cpuShare: 0.93, loopShare: 0.9 }, /CPU was busy 93 %/, undefined],
    ['its thread', { cpuShare: 0.4, loopShare: 0.99 }, /overloaded/, true],
    ['its timers', { medianDelayMs: 3 }, /3 ms behind/, true],
  ])('finds that %s was the limit, and whether others were the cause', async (_, use, reason, starved) => {
    const { client } = await measure({ executionNs: () => 1e6 }, 4, using(use));
    expect(client).toMatchObject({ bound: true, reason: expect.stringMatching(reason) });
    expect(client.starved).toBe(starved);
  });

  it('asks for the ceiling only when the client works hard, and minds it only when it is near', async () => {
    const asked: number[] = [];
    const ceilingOf = (perSecond: number) => async () => {
      asked.push(perSecond);
      return perSecond;
    };
    const at = async (cpuShare: number, ceiling: number) =>
      (await measure({ executionNs: () => 1e6 }, 4, { ...using({ cpuShare }), clientCeiling: ceilingOf(ceiling) }))
        .client;
    expect(await at(0.2, 1050)).toMatchObject({ bound: false });
    expect(asked).toEqual([]);
    expect(await at(0.7, 1050)).toMatchObject({ bound: true, reason: expect.stringMatching(/1,050 infer\/s/) });
    expect(await at(0.7, 5000)).toMatchObject({ bound: false });
    expect(asked).toEqual([1050, 5000]);
  });

  it('is of each agent by itself, and names the one that was the limit', async () => {
    const calm: ClientUse = { ...(idleClient.read() as ClientUse), cpuShare: 0.3 };
    const clock = { offsetNs: 5e6, uncertaintyNs: 2e5, driftNs: -1e5, driftUncertaintyNs: 4e5 };
    const agent = (address: string, use: ClientUse) => ({ address, version: '1', cores: 4, threads: 1, clock, use });
    const measuredWith = async (busiest: number) => {
      const agents = [agent('a:1', calm), agent('b:1', { ...calm, cpuShare: busiest })];
      return (await measure({ executionNs: () => 1e6 }, 4, using({ cpuShare: busiest, agents }))).client;
    };
    const client = await measuredWith(0.95);
    expect(client).toMatchObject({ bound: true, reason: expect.stringMatching(/^agent b:1: its CPU was busy 95 %/) });
    expect(client.agents).toMatchObject([
      { address: 'a:1', bound: false, clock: { offsetMs: 5, uncertaintyMs: 0.2, driftMs: -0.1 } },
      { address: 'b:1', bound: true, reason: expect.stringMatching(/^its CPU was busy/), cpuShare: 0.95 },
    ]);
    expect(await measuredWith(0.4)).toMatchObject({ bound: false, agents: [{ bound: false }, { bound: false }] });
  });

  it('forgives late timers where latency is long', async () => {
    const { client } = await measure({ executionNs: () => 20e6 }, 4, using({ medianDelayMs: 3 }));
    expect(client.bound).toBe(false);
  });

  it('blames a client whose sends run late, and no other in an open loop', async () => {
    const clock = new SimulatedClock();
    const server = new SimulatedServer(clock, { instances: 500, executionNs: () => 2e6 });
    const options = { clock, transport: server, stats: server, level: { mode: 'request-rate', value: 300 } } as const;
    const sluggish: Alarm = {
      ...sleepingAlarm(clock),
      set(ns, ring) {
        void clock.sleep(ns / 1e6 + 5).then(ring);
      },
    };
    const late = await measure({ executionNs: () => 0 }, 1, { ...options, alarm: sluggish });
    expect(late.client).toMatchObject({ bound: true, reason: expect.stringMatching(/half of its sends/) });
    const busy = await measure({ executionNs: () => 0 }, 1, { ...options, ...using({ cpuShare: 1, loopShare: 1 }) });
    expect(busy.client.bound).toBe(false);
  });

  it('reads the use of a real process', async () => {
    const watch = watchClient();
    watch.restart();
    await new Promise((resolve) => setTimeout(resolve, 30));
    const until = performance.now() + 60;
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const use = await watch.read();
    watch.stop();
    expect(use.cpuUs).toBeGreaterThan(0);
    expect(use.cpuShare).toBeGreaterThan(0);
    expect(use.loopShare).toBeGreaterThan(0.1);
    expect(use.longestDelayMs).toBeGreaterThan(30);
    expect(use.medianDelayMs).toBeLessThanOrEqual(use.longestDelayMs);
  });
});

describe('the verdict on a rate that was not held', () => {
  const pause = (lengthNs: number, gcNs = 0) => ({ startNs: 0, lengthNs, gcNs });
  const heldUp = { pauses: [pause(40e6), pause(60e6)], runQueueNs: 1e6, threads: 1 };
  const idle = { allMs: 20_000, idleMs: 12_000, stolenMs: 0, pressedMs: 0 };
  const full = { ...idle, idleMs: 200 };
  const held = { sent: 1000, late: 20, dropped: 0, maxInFlight: 4096, requestRate: 1000, heldUp, host: idle };

  it('is silent where the rate was held', () => {
    expect(unheldRate(held, null)).toBeNull();
    expect(unheldRate({ ...held, host: full }, null)).toBeNull();
  });

  it.each([
    ['server', 'a slow server', { dropped: 500 }, null, /^33 % of the requests were not sent: 4,096 were in flight/],
    ['server', 'a client that can do more', { dropped: 500 }, 5000, /^33 %/],
    ['client', 'a client near its ceiling', { dropped: 500 }, 1100, /^it can send 1,100 infer\/s/],
    ['machine', 'CPUs without rest', { dropped: 500, host: full }, 5000, /CPUs of this machine were busy 99 %/],
    ['machine', 'late sends on such CPUs', { late: 830, host: full }, null, /^83 % of the sends were late: the CPUs/],
    ['client', 'its own work', { late: 830 }, null, /^83 % of the sends were late: its own work delayed/],
    ['client', 'no pause that was seen', { late: 830, heldUp: null }, null, /its own work delayed/],
    ['client', 'collections', { late: 830, heldUp: { ...heldUp, pauses: [pause(9e6, 9e6)] } }, null, /garbage/],
    ['machine', 'others', { late: 830, heldUp: { ...heldUp, runQueueNs: 90e6 } }, null, /other processes kept/],
    ['machine', 'the host', { late: 830, host: { ...idle, stolenMs: 90 } }, null, /host of this virtual machine/],
  ] as const)('names the %s for %s', (by, _, seen, ceiling, reason) => {
    const unheld = unheldRate({ ...held, ...seen }, ceiling);
    expect(unheld).toEqual({ by, reason: expect.stringMatching(reason) });
  });

  it('is part of a measurement, whose counts are those of its counted windows', async () => {
    const clock = new SimulatedClock();
    const server = new SimulatedServer(clock, { instances: 1, executionNs: () => 10e6 });
    const level = { mode: 'request-rate', value: 300 } as const;
    const options = { clock, transport: server, stats: server, level, openLoop: { maxInFlight: 8 } };
    const { client, openLoop, requests, errorRate } = await measure({ executionNs: () => 0 }, 1, options);
    expect(client).toMatchObject({
      bound: false,
      unheldRate: { by: 'server', reason: expect.stringMatching(/8 were in flight, the most, and 100 infer\/s/) },
    });
    // Two of three requests were not sent.
    expect((openLoop?.droppedSends ?? 0) / requests).toBeCloseTo(2, 0);
    expect(errorRate).toBeCloseTo(2 / 3, 1);
    const kept = await measure({ executionNs: () => 1e6 }, 1, { level: { mode: 'request-rate', value: 30 } });
    expect(kept.client.unheldRate).toBeUndefined();
  });
});
