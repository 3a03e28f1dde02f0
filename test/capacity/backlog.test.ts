import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { backlogExceededBy, playBacklog } from '#capacity/posterior/backlog.ts';

const everything = [{ from: -1, to: Number.POSITIVE_INFINITY }];

describe('the backlog of a steady server', () => {
  it('grows by each arrival and is worked off between them', () => {
    // One request a millisecond: the third arrives to 0.5 of the first and the whole second, the
    // last to nothing.
    const dueMs = Float64Array.from([0, 0.5, 0.5, 10]);
    const met = playBacklog({ dueMs, countedMs: everything }, { perSecond: 1000, idleMs: 1 });
    const shares = [0.5, 1.25, 2.25, 3].map((requests) => met.shareAbove(requests));
    expect(shares[0]).toBeGreaterThan(0.99);
    expect(shares[3]).toBe(0);
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
  });

  it('counts the requests whose replies fall into the counted times', () => {
    const dueMs = Float64Array.from([0, 10, 10, 10, 20, 30]);
    const countedMs = [
      { from: 10, to: 12 },
      { from: 25, to: 40 },
    ];
    const met = playBacklog({ dueMs, countedMs }, { perSecond: 1000, idleMs: 1 });
    // Replies at 11 and 12 ms, and at 31 ms; the third of those due at 10 ms comes at 13 ms.
    expect(met.shareAbove(1.99)).toBeCloseTo(1 / 3, 1);
    expect(met.shareAbove(0)).toBe(1);
  });

  it('says nothing of requests that no counted time holds', () => {
    const met = playBacklog({ dueMs: Float64Array.from([1]), countedMs: [] }, { perSecond: 10, idleMs: 1 });
    expect(met.shareAbove(0)).toBe(0);
  });

  it.each([0.4, 0.63, 0.9])('is exceeded by a hundredth of Poisson arrivals at the utilization %d', (utilization) => {
    const random = seededRandom(1);
    let ms = 0;
    const dueMs = Float64Array.from({ length: 400_000 }, () => {
      ms -= Math.log(1 - random.float()) / utilization;
      return ms;
    });
    const { shareAbove } = playBacklog({ dueMs, countedMs: everything }, { perSecond: 1000, idleMs: 0 });
    const share = shareAbove(backlogExceededBy(0.01, utilization));
    expect(share).toBeGreaterThan(0.007);
    expect(share).toBeLessThan(0.014);
  });

  it('rises with the utilization, from a single request on, however low that is', () => {
    const utilizations = [1e-6, 0.001, 0.02, 0.05, 0.1, 0.3, 0.6, 0.9, 0.99, 0.999];
    const backlogs = utilizations.map((utilization) => backlogExceededBy(0.01, utilization));
    expect(backlogs).toEqual(backlogs.toSorted((a, b) => a - b));
    expect(backlogs[0]).toBeGreaterThanOrEqual(1);
    expect(backlogs[0]).toBeLessThan(1.1);
    // θ is 4.5139 at 0.05, and P(W > t) there 0.2666 e^(−θt).
    expect(backlogs[3]).toBeCloseTo(1 + Math.log(26.66) / 4.5139, 3);
  });
});
