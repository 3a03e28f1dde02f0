import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { isFeasible } from '#study/goal/goal.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { LevelPoint, LevelRange, Trial } from '#study/types.ts';
import { configOf, goalOf, toCandidate, trialOf } from './builders.ts';
import { measuredAt } from './simulated.ts';

const unlimited = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };
const MAX_TRIALS = 12;

const all = [8, 16, 32, 64].flatMap((batch) => [1, 2].map((count) => ({ batch, count })));

/** Largest batches and instances, with dynamic batching. */
const space: SpaceView = {
  assignments: () => all.values(),
  sample: (random) => all[random.int(0, all.length - 1)] as (typeof all)[number],
  complete: (wanted, random) => ({ ...space.sample(random), ...wanted }),
  build(assignment) {
    const { batch, count } = assignment as (typeof all)[number];
    return { legal: true, candidate: toCandidate(configOf(count, batch, { dynamic_batching: {} }), assignment) };
  },
};

/** A whole search on a server in virtual time that gives the true figures. */
function searched(levels: LevelRange, budgetMs: number) {
  const goal = goalOf(budgetMs);
  const sampler = queueingSampler(space, { seed: 1, goal, levels });
  const measure = (candidate: Trial['candidate'], { value, batch = 1 }: LevelPoint): Measurement => ({
    ...measuredAt(toModelConfig(candidate), value, batch),
    level: { mode: 'concurrency', value, batch },
  });
  const trials: Trial[] = [];
  const run = (candidate: Trial['candidate'], first: LevelPoint | null): void => {
    const number = trials.length;
    const role = number === 0 ? 'baseline' : 'search';
    const measurements: Measurement[] = first ? [measure(candidate, first)] : [];
    for (;;) {
      const next = sampler.level?.({ trials }, { number, role, candidate, measurements }) ?? null;
      if (next === null) break;
      measurements.push(measure(candidate, typeof next === 'number' ? { value: next } : next));
    }
    const standing = computeStanding(measurements, candidate, goal);
    trials.push({ ...trialOf(number, configOf(1, 1)), role, candidate, measurements, ...standing });
  };
  run(toCandidate(configOf(1, 8)), { value: levels.low, batch: levels.batch?.low ?? 1 });
  while (trials.length <= MAX_TRIALS) {
    const answer = sampler.ask({ trials }, unlimited);
    if (answer.kind === 'stop') break;
    const outcome = space.build(answer.assignment);
    if (!outcome.legal || answer.levels.kind !== 'search') throw new Error('no search of a legal candidate');
    const { start, batch } = answer.levels;
    run(outcome.candidate, start === undefined ? null : { value: start, ...(batch !== undefined && { batch }) });
  }
  const made = trials.flatMap(({ candidate, measurements }) => measurements.map((each) => ({ candidate, each })));
  const met = made.filter(({ candidate, each }) => isFeasible(each, candidate, goal));
  const best = met.reduce((most, one) => (one.each.throughput.value > most.each.throughput.value ? one : most));
  const swept = [...space.assignments()].flatMap((assignment) => {
    const outcome = space.build(assignment);
    if (!outcome.legal) return [];
    const { candidate } = outcome;
    const largest = Math.min(levels.batch?.high ?? 1, Math.max(1, candidate.shape.policy.maxBatchSize));
    const values = Array.from({ length: levels.high - levels.low + 1 }, (_, index) => levels.low + index);
    const batches = Array.from({ length: Math.ceil(largest / 2) }, (_, index) => 2 * index + 1 + (largest > 1 ? 1 : 0));
    return values
      .flatMap((value) => batches.map((batch) => measure(candidate, { value, batch })))
      .filter((each) => isFeasible(each, candidate, goal))
      .map((each) => ({ rate: each.throughput.value, level: each.level }));
  });
  const optimum = swept.reduce((most, one) => (one.rate > most.rate ? one : most));
  return { made, best, optimum, swept: swept.length };
}

describe('the queueing sampler over client batches', () => {
  it('finds the best batch for one client in few measurements', { timeout: 180_000 }, () => {
    const { made, best, optimum } = searched({ mode: 'concurrency', low: 1, high: 1, batch: { low: 1, high: 64 } }, 8);
    expect(best.each.throughput.value / optimum.rate).toBeGreaterThan(0.95);
    expect(made.length).toBeLessThanOrEqual(16);
    expect(made.every(({ each, candidate }) => (each.level.batch ?? 0) <= candidate.shape.policy.maxBatchSize)).toBe(
      true,
    );
  });

  it('finds a good pair of concurrency and batch', { timeout: 90_000 }, () => {
    const { made, best, optimum } = searched({ mode: 'concurrency', low: 1, high: 6, batch: { low: 1, high: 32 } }, 20);
    expect(best.each.throughput.value / optimum.rate).toBeGreaterThan(0.9);
    expect(made.length).toBeLessThanOrEqual(24);
  });
});
