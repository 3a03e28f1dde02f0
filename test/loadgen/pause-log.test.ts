import { describe, expect, it } from 'vitest';
import { allHeldUp } from '#loadgen/client/held-up.ts';
import { computeBusyShare, hostCpuSince, parseHostCpu, readHostCpu } from '#loadgen/client/host-cpu.ts';
import { PauseLog } from '#loadgen/workers/pause-log.ts';

const MS = 1e6;

/** A log of ticks after these times, in milliseconds, each since the one before. */
function ticked(...gapsMs: readonly number[]): { readonly log: PauseLog; readonly nowNs: number } {
  const log = new PauseLog(MS, 0);
  let nowNs = 0;
  for (const gap of gapsMs) {
    nowNs += gap * MS;
    log.tick(nowNs);
  }
  return { log, nowNs };
}

describe('pauses of a thread', () => {
  it('are ticks that are later than a timer may be, as long as they are late', () => {
    const { log, nowNs } = ticked(1.05, 2, 0.3, 1.1, 6.5, 1.06);
    const [pause, ...others] = log.take(nowNs);
    expect(others).toEqual([]);
    expect(pause).toMatchObject({ lengthNs: expect.closeTo(5.5 * MS, 0), gcNs: 0 });
    expect(pause?.startNs).toBeCloseTo((1.05 + 2 + 0.3 + 1.1 + 1) * MS, 0);
    expect(log.take(nowNs)).toEqual([]);
  });

  it('are collections, those too that no tick was late for', () => {
    const { log, nowNs } = ticked(1, 1);
    log.collected(1.2 * MS, 0.4 * MS);
    expect(log.take(nowNs)).toEqual([{ startNs: 1.2 * MS, lengthNs: 0.4 * MS, gcNs: 0.4 * MS }]);
  });

  it('count a collection within a late tick once, as its cause, also one that is told after the pause was taken', () => {
    const { log, nowNs } = ticked(1, 9);
    log.collected(2.5 * MS, 6 * MS);
    expect(log.take(nowNs)).toEqual([{ startNs: 2 * MS, lengthNs: 8 * MS, gcNs: 6 * MS }]);
    log.collected(9 * MS, 0.5 * MS);
    expect(log.take(nowNs)).toEqual([]);
  });

  it('count one that has not ended when they are asked for, once', () => {
    const { log, nowNs } = ticked(1);
    const atNs = nowNs + 5 * MS;
    expect(log.take(atNs)).toMatchObject([{ lengthNs: 4 * MS }]);
    log.tick(atNs + 1 * MS);
    expect(log.take(atNs + 1 * MS)).toEqual([]);
  });

  it('of several threads are all told, and the wait only where each knows it', () => {
    const pause = { startNs: 0, lengthNs: 3, gcNs: 0 };
    const one = { pauses: [pause], runQueueNs: 5, threads: 1 };
    expect(allHeldUp([one, one], 2)).toEqual({ pauses: [pause, pause], runQueueNs: 10, threads: 2 });
    expect(allHeldUp([one, { ...one, runQueueNs: null }])).toMatchObject({ runQueueNs: null, threads: 1 });
  });
});

describe('what the machine says of its CPUs', () => {
  const stat = 'cpu  55446 0 11722 123997 396 0 1133 32 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1 2 3\n';
  const pressure = 'some avg10=96.13 avg60=79.42 avg300=36.48 total=231330790\nfull avg10=0.00 avg60=0.00 total=7\n';

  it('is the time that its host took, and the time in which something waited', () => {
    const seen = parseHostCpu(stat, pressure);
    expect(seen).toEqual({ stolenMs: 320, pressedMs: 231_330.79, allMs: 1_927_260, idleMs: 1_243_930 });
    const later = parseHostCpu(stat.replace(' 32 ', ' 35 '), pressure.replace('231330790', '231430790'));
    expect(hostCpuSince(seen, later)).toEqual({
      stolenMs: 30,
      pressedMs: expect.closeTo(100, 6),
      allMs: 30,
      idleMs: 0,
    });
    expect([computeBusyShare(seen), computeBusyShare({ allMs: 0, idleMs: 0 })]).toEqual([
      expect.closeTo(0.3546, 4),
      null,
    ]);
  });

  it('is absent where it is not told', () => {
    expect(parseHostCpu('', '')).toEqual({});
    expect(parseHostCpu('cpu  1 2 3 4\n', 'nothing')).toEqual({});
    expect(hostCpuSince({ stolenMs: 3 }, {})).toEqual({});
  });

  it('is read without an error, whatever the system', () => {
    for (const value of Object.values(readHostCpu())) expect(value).toBeGreaterThanOrEqual(0);
  });
});
