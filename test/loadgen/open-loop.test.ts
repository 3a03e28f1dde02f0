import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openAlarm, sleepingAlarm } from '#base/alarm.ts';
import { realClock } from '#base/clock.ts';
import { defaultOpenLoopRule, OpenLoop, type OpenLoopRule } from '#loadgen/open-loop.ts';
import { bursts, constantRate, intervalList, limited, type Pacer, poissonArrivals } from '#loadgen/pacers.ts';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import type { PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { aRequestSet, SimulatedClock, type SimulatedModel, SimulatedServer } from './simulation.ts';

const wholeRun = { lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 };

function prepare(model: SimulatedModel, pacer: Pacer, rule: Partial<OpenLoopRule> = {}) {
  const clock = new SimulatedClock();
  const server = new SimulatedServer(clock, model);
  const recorder = new Recorder();
  const batches: Batch[] = [];
  recorder.start(wholeRun, (batch) => batches.push(batch));
  const loop = new OpenLoop(
    { transport: server, nextRequest: requestCycle(server, aRequestSet), recorder },
    { clock, alarm: sleepingAlarm(clock) },
    pacer,
    { ...defaultOpenLoopRule, ...rule },
  );
  const finish = async (): Promise<Batch> => {
    expect(await loop.drain(60_000)).toBe(0);
    recorder.closeNow(clock.nowNs());
    return batches[0] as Batch;
  };
  return { clock, server, loop, finish };
}

describe('OpenLoop', () => {
  it('sends at the times of its pacer, whatever the server takes', async () => {
    for (const executionNs of [1e3, 40e6, 3e9]) {
      const { clock, loop, server } = prepare({ instances: 1000, executionNs: () => executionNs }, constantRate(100));
      loop.start();
      await clock.sleep(1999.5);
      expect([loop.sent, loop.takeTally().late]).toEqual([200, 0]);
      expect(server.mostInFlight).toBe(Math.min(200, Math.max(1, executionNs / 10e6)));
      await loop.drain(10_000);
    }
  });

  it('sends exactly what is due by any time, for any list of gaps', async () => {
    const cases = fc.record({
      gaps: fc
        .array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 8 })
        .filter((all) => Math.max(...all) > 0),
      stopMs: fc.integer({ min: 1, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ gaps, stopMs }) => {
        const list = gaps.map((gap) => gap * 1e6);
        const { clock, loop } = prepare({ instances: 10, executionNs: () => 7e6 }, intervalList(list));
        loop.start();
        await clock.sleep(stopMs + 0.5);
        let due = 0;
        for (let ns = list[0] as number; ns <= stopMs * 1e6; ns += list[due % list.length] as number) due++;
        expect(loop.sent).toBe(due);
        await loop.drain(60_000);
        expect(loop.sent).toBe(due);
      }),
      { numRuns: 40 },
    );
  });

  it('ends with its pacer', async () => {
    const { clock, loop, finish } = prepare({ executionNs: () => 1e6 }, limited(constantRate(1000), { requests: 50 }));
    loop.start();
    await clock.sleep(200);
    expect([loop.sent, loop.ended, loop.inFlight]).toEqual([50, true, 0]);
    expect((await finish()).succeeded).toBe(49);
  });

  it('drops what is due beyond its cap, and counts it', async () => {
    const { clock, loop, server } = prepare({ executionNs: () => 100e6 }, constantRate(1000), { maxInFlight: 20 });
    loop.start();
    await clock.sleep(1000.5);
    const { sent, dropped, late } = loop.takeTally();
    expect([sent + dropped, sent, late]).toEqual([1001, 30, 0]);
    expect([server.mostInFlight, loop.mostInFlight]).toEqual([20, 20]);
    await loop.drain(60_000);
  });

  it('keeps on through failures', async () => {
    const refused: SendOutcome = { ok: false, kind: 'refused', message: 'no' };
    const { clock, loop, finish } = prepare({ executionNs: () => 1e6, outcome: () => refused }, constantRate(500));
    loop.start();
    await clock.sleep(1000.5);
    expect(loop.sent).toBe(501);
    expect((await finish()).failed).toBe(500);
  });

  it('shows a stall of the server in every request that it should have had meanwhile', async () => {
    const stallAt = (_: number, execution: number): number => (execution === 100 ? 1e9 : 4e6);
    const { clock, loop, finish } = prepare({ executionNs: stallAt }, constantRate(200));
    loop.start();
    await clock.sleep(5000);
    const { latencies, fromDue } = await finish();
    // 200 were due in the stall; it takes 800 more until the backlog is gone.
    expect(latencies.countAbove(10e6)).toBeGreaterThan(800);
    expect(fromDue?.quantileNs(0.99)).toBeGreaterThan(0.98e9);
    expect(fromDue?.maxNs).toBe(latencies.maxNs);
  });

  it('makes up for its own stall at once, and counts it against the time due only', async () => {
    const { clock, loop, finish, server } = prepare({ instances: 1000, executionNs: () => 2e6 }, constantRate(100));
    loop.start();
    await clock.sleep(505);
    // Nothing of ours runs for 300 ms: the alarm that is set rings late.
    const sleep = clock.sleep.bind(clock);
    let held = false;
    clock.sleep = (ms, signal) => {
      const hold = !held;
      held = true;
      return sleep(hold ? 300 + ms : ms, signal);
    };
    await sleep(500);
    const tally = loop.takeTally();
    expect(loop.sent).toBe(101);
    expect(tally).toMatchObject({ sent: 101, late: 30, dropped: 0 });
    expect(tally.lateness.maxNs).toBeCloseTo(300e6, 0);
    expect(tally.lateness.quantileNs(0.5)).toBe(0);
    expect(server.mostInFlight).toBe(31);
    const { latencies, fromDue } = await finish();
    expect(latencies.maxNs).toBeCloseTo(2e6, 0);
    expect(fromDue?.maxNs).toBeCloseTo(302e6, 0);
    expect(fromDue?.count).toBe(latencies.count);
  });

  it('sends bursts together', async () => {
    const { clock, loop } = prepare({ instances: 99, executionNs: () => 1e6 }, bursts(40, 10e6));
    loop.start();
    await clock.sleep(25);
    expect([loop.sent, loop.mostInFlight]).toEqual([120, 40]);
    await loop.drain(1000);
  });

  it('gives up a drain at its limit and says what is left', async () => {
    const { clock, loop } = prepare({ executionNs: () => 60e9 }, constantRate(10));
    loop.start();
    await clock.sleep(450);
    expect(await loop.drain(100)).toBe(5);
    await clock.sleep(1000);
    expect(loop.sent).toBe(5);
  });
});

describe('an alarm of real time', () => {
  const openForTest = () => {
    const alarm = openAlarm();
    onTestFinished(() => alarm.close());
    return alarm;
  };

  it('rings once, not before its time, and not after it was cleared or set anew', async () => {
    const alarm = openForTest();
    const rung: string[] = [];
    for (const ms of [0, 0.02, 0.3, 1.5, 12]) {
      const startNs = realClock.nowNs();
      alarm.set(3e6, () => rung.push('old'));
      await new Promise<void>((resolve) => alarm.set(ms * 1e6, resolve));
      expect(realClock.nowNs() - startNs).toBeGreaterThanOrEqual(ms * 1e6 - 1e3);
    }
    alarm.set(2e6, () => rung.push('cleared'));
    alarm.clear();
    await realClock.sleep(20);
    expect(rung).toEqual([]);
  });

  it('keeps a random schedule on the real clock without loss', async () => {
    const answered: Transport<PreparedRequest> = {
      prepare: (request) => ({ request }),
      send: (_, done) => setImmediate(done, { ok: true }),
      close: async () => undefined,
    };
    const recorder = new Recorder();
    const loop = new OpenLoop(
      { transport: answered, nextRequest: requestCycle(answered, aRequestSet), recorder },
      { clock: realClock, alarm: openForTest() },
      limited(poissonArrivals(1000, 7), { requests: 500 }),
      defaultOpenLoopRule,
    );
    loop.start();
    for (let waits = 0; !loop.ended && waits < 500; waits++) await realClock.sleep(20);
    expect(await loop.drain(5000)).toBe(0);
    expect(loop.takeTally()).toMatchObject({ sent: 500, dropped: 0 });
  });
});
