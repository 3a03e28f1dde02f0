import { expect, it } from 'vitest';
import { played } from '#app/traffic/workload.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { codeTrace, TRACE_RATE, TRACE_S } from '../support/code-trace.ts';
import { measure } from './simulate.ts';

/**
 * Four executions of 100 ms at a time serve 40 requests a second: less than twice the peaks, and
 * more than twice the mean.
 */
async function replay(times: number): Promise<Measurement> {
  const workload = await parseWorkload(JSON.stringify(codeTrace(300)), 'code.json');
  const { planAt } = played(workload, { seed: 1 });
  return measure({ instances: 4, executionNs: () => 100e6 }, 1, {
    level: { mode: 'request-rate', value: times * TRACE_RATE },
    limits: { e2eNs: 300e6 },
    scheduleAt: (perSecond) => ({ kind: 'arrivals', plan: planAt(perSecond) }),
  });
}

it('replays a published trace at 0.5, 1 and 2 times its rate, in virtual time', async () => {
  const replays = await Promise.all([0.5, 1, 2].map(replay));
  for (const [index, { requests, windows, durationMs, errorRate }] of replays.entries()) {
    expect([windows, errorRate]).toEqual([1, 0]);
    expect(durationMs / 1000 / TRACE_S).toBeCloseTo(1, 1);
    expect(requests / (2 ** (index - 1) * TRACE_RATE * TRACE_S)).toBeCloseTo(1, 2);
  }
  const shares = replays.map(({ goodput, level }) => (goodput?.value ?? 0) / level.value);
  // The mean rate alone would be served in time at each; at twice the rate the bursts are not.
  expect(shares[0]).toBeGreaterThan(0.99);
  expect(shares[1]).toBeGreaterThan(0.99);
  expect(shares[2]).toBeLessThan(0.8);
  const [, once, twice] = replays.map(({ budgetLatencyMs }) => budgetLatencyMs.value);
  expect([once, Number(twice) > 5 * Number(once)]).toEqual([expect.closeTo(100, 6), true]);
});
