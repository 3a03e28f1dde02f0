import { describe, expect, it } from 'vitest';
import type { Candidate } from '#space/types.ts';
import { type ExhaustivePlan, exhaustiveSampler } from '#study/search/samplers/exhaustive.ts';
import type { Trial, TrialFailure } from '#study/types.ts';
import { configOf, measured, toCandidate } from './builders.ts';

const candidates = [1, 2, 4].flatMap((count) =>
  [4, 8].map((batch) => toCandidate(configOf(count, batch), { count, batch })),
);
const plan: ExhaustivePlan = { candidates, levels: [1, 4, 16], repeats: 1, seed: 5 };
const { latencyLimitMs: _, ...wholePlan } = { ...plan, latencyLimitMs: 50 };

const byAssignment = new Map(candidates.map((each) => [JSON.stringify(each.assignment), each]));

/** Plays the sampler out: what `outcome` says of a point becomes its trial. */
function playOut(
  of: ExhaustivePlan,
  outcome: (
    candidate: Candidate,
    level: number,
  ) => { rate?: number; p99?: number; failure?: TrialFailure } = () => ({}),
) {
  const sampler = exhaustiveSampler(of);
  const trials: Trial[] = [];
  const points: { count: number; batch: number; level: number }[] = [];
  const left: number[] = [];
  for (;;) {
    left.push(sampler.left({ trials }));
    const answer = sampler.ask({ trials }, { trials: 1e9, seconds: 1e9 });
    if (answer.kind === 'stop') return { points, trials, left, reason: answer.reason };
    const candidate = byAssignment.get(JSON.stringify(answer.assignment)) as Candidate;
    const level = answer.levels.kind === 'fixed' ? (answer.levels.values[0] as number) : Number.NaN;
    const { rate = 100 * level, p99 = 1, failure = null } = outcome(candidate, level);
    const measurements = failure ? [] : [measured(level, rate, p99)];
    const { count, batch } = candidate.assignment as { count: number; batch: number };
    points.push({ count, batch, level });
    trials.push({
      number: trials.length + 1,
      role: 'search',
      candidate,
      measurements,
      chosen: failure ? null : 0,
      feasible: failure === null,
      failure,
    });
    if (trials.length > 1000) throw new Error('it does not end');
  }
}

const text = (point: object): string => JSON.stringify(point);

describe('the exhaustive sampler', () => {
  it('measures every candidate at every level, as often as asked, and counts what is left', () => {
    const { points, left } = playOut({ ...wholePlan, repeats: 3 });
    expect(points).toHaveLength(6 * 3 * 3);
    expect(new Set(points.map(text)).size).toBe(6 * 3);
    expect(left).toEqual(Array.from({ length: 55 }, (_, done) => 54 - done));
  });

  it('goes over everything before it repeats anything, each time in another order', () => {
    const { points } = playOut({ ...wholePlan, repeats: 2 });
    const rounds = [points.slice(0, 18), points.slice(18)].map((round) => round.map(text));
    expect([...(rounds[0] ?? [])].sort()).toEqual([...(rounds[1] ?? [])].sort());
    expect(rounds[0]).not.toEqual(rounds[1]);
  });

  it('keeps together what differs in instances alone, the fewest first, and climbs the levels', () => {
    const { points } = playOut({ ...wholePlan, repeats: 2 });
    const changes = points.filter(({ batch }, index) => index > 0 && points[index - 1]?.batch !== batch);
    expect(changes.length).toBeLessThanOrEqual(3);
    const counts = points.filter(({ level }) => level === 1).map(({ count }) => count);
    expect(counts).toEqual([1, 2, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4]);
    for (let start = 0; start < points.length; start += 3)
      expect(points.slice(start, start + 3).map(({ level }) => level)).toEqual([1, 4, 16]);
  });

  it('gives the same order for the same seed, from any point on', () => {
    const { trials, points } = playOut(wholePlan);
    const { points: again } = playOut(wholePlan);
    expect(again).toEqual(points);
    for (const done of [1, 7, 13]) {
      const answer = exhaustiveSampler(wholePlan).ask({ trials: trials.slice(0, done) }, { trials: 1, seconds: 1 });
      expect(answer).toMatchObject({ assignment: trials[done]?.candidate.assignment });
    }
  });

  it('stops climbing only where the latency is beyond the limit and throughput does not grow', () => {
    const levelsOf = (outcome: (level: number) => { rate: number; p99: number }, latencyLimitMs?: number) =>
      new Set(playOut({ ...plan, latencyLimitMs }, (_, level) => outcome(level)).points.map(({ level }) => level));
    const flatAndSlow = (level: number) => ({ rate: 100, p99: 20 * level });
    expect(levelsOf(flatAndSlow, 50)).toEqual(new Set([1, 4]));
    expect(levelsOf(flatAndSlow)).toEqual(new Set([1, 4, 16]));
    expect(levelsOf((level) => ({ rate: 100 * level, p99: 20 * level }), 50)).toEqual(new Set([1, 4, 16]));
    expect(levelsOf(() => ({ rate: 100, p99: 20 }), 50)).toEqual(new Set([1, 4, 16]));
  });

  it('reads every point as often, also where a later round would stop elsewhere', () => {
    let calls = 0;
    const { points } = playOut({ ...plan, repeats: 3, latencyLimitMs: 50 }, (_, level) => {
      calls += 1;
      return { rate: 100, p99: calls > 12 ? 1 : 20 * level };
    });
    const counts = [...Map.groupBy(points, text).values()].map((readings) => readings.length);
    expect(new Set(counts)).toEqual(new Set([3]));
  });

  it('does not go back to a candidate that is not served, but does when the server was lost', () => {
    const failing = (kind: TrialFailure['kind']) => {
      let failed = 0;
      const { points } = playOut({ ...wholePlan, repeats: 2 }, ({ assignment }) => {
        const fails = assignment.count === 4 && assignment.batch === 8 && (kind !== 'server-lost' || failed++ === 0);
        return fails ? { failure: { kind, reason: 'no' } } : {};
      });
      return points.filter(({ count, batch }) => count === 4 && batch === 8).length;
    };
    expect(failing('out-of-memory')).toBe(1);
    expect(failing('requests-failed')).toBe(1);
    expect(failing('server-lost')).toBe(1 + 2 * 3);
  });
});
