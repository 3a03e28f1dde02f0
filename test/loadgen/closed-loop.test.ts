import { describe, expect, it } from 'vitest';
import { ClosedLoop } from '#loadgen/closed-loop.ts';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import type { SendOutcome } from '#loadgen/types.ts';
import { aRequestSet, SimulatedClock, type SimulatedModel, SimulatedServer } from './simulation.ts';

const refused: SendOutcome = { ok: false, kind: 'refused', message: 'connection refused' };

function start(model: SimulatedModel) {
  const clock = new SimulatedClock();
  const server = new SimulatedServer(clock, model);
  const recorder = new Recorder();
  const loop = new ClosedLoop(server, { nextRequest: requestCycle(server, aRequestSet) }, recorder, clock);
  return { clock, server, recorder, loop };
}

describe('ClosedLoop', () => {
  it('keeps exactly its level in flight, and follows a change of level', async () => {
    const { clock, server, loop } = start({ instances: 100, executionNs: () => 1e6 });
    loop.setConcurrency(5);
    expect(loop.inFlight).toBe(5);
    await clock.sleep(20.5);
    expect([loop.inFlight, server.mostInFlight]).toEqual([5, 5]);
    loop.setConcurrency(9);
    await clock.sleep(20);
    expect([loop.inFlight, server.mostInFlight]).toEqual([9, 9]);
    loop.setConcurrency(2);
    expect(loop.inFlight).toBe(9);
    await clock.sleep(20);
    expect(loop.inFlight).toBe(2);
    await loop.drain(1000);
  });

  it('does not go beyond its level when it falls and rises while requests are out', async () => {
    const { clock, server, loop } = start({ instances: 100, executionNs: () => 5e6 });
    for (const level of [4, 1, 4, 2, 4]) loop.setConcurrency(level);
    await clock.sleep(50);
    expect([loop.inFlight, server.mostInFlight]).toEqual([4, 4]);
    await loop.drain(1000);
  });

  it('drains: sends no more and waits for what is out', async () => {
    const { clock, loop } = start({ instances: 3, executionNs: () => 7e6 });
    loop.setConcurrency(3);
    await clock.sleep(10);
    const sent = loop.sent;
    expect(await loop.drain(1000)).toBe(0);
    expect([loop.inFlight, loop.sent, clock.nowNs()]).toEqual([0, sent, 14e6]);
    expect(await loop.drain(1000)).toBe(0);
  });

  it('gives up a drain at its limit and says what is left', async () => {
    const { clock, loop } = start({ instances: 2, executionNs: () => 60e9 });
    loop.setConcurrency(2);
    expect(await loop.drain(100)).toBe(2);
    expect(clock.nowNs()).toBe(100e6);
  });

  it('does not spin on failures, and is at full pace again after them', async () => {
    const { clock, loop } = start({
      executionNs: () => 1e6,
      outcome: (request) => (request < 20 ? refused : { ok: true }),
      failAfterNs: 1,
    });
    loop.setConcurrency(1);
    await clock.sleep(1000);
    // Pauses of 1, 2, 4 … 256 ms: nine failures take more than half a second.
    expect(loop.sent).toBeLessThan(12);
    await clock.sleep(5000);
    const sent = loop.sent;
    await clock.sleep(100);
    expect(loop.sent - sent).toBe(100);
    await loop.drain(1000);
  });

  it('measures each request from its sending to its completion', async () => {
    const { clock, recorder, loop } = start({ executionNs: () => 2e6 });
    const batches: Batch[] = [];
    recorder.start({ lengthNs: 100e6, minRequests: 1 }, (batch) => batches.push(batch));
    loop.setConcurrency(4);
    await clock.sleep(110);
    await loop.drain(1000);
    // Four wait for one instance: the first completion opens the batch, the next two see a shorter
    // queue.
    expect(batches[0]).toMatchObject({ startNs: 2e6, endNs: 102e6, succeeded: 50, failed: 0 });
    expect(batches[0]?.latencies.maxNs).toBe(8e6);
    expect(batches[0]?.latencies.countAbove(7.9e6)).toBe(48);
  });
});
