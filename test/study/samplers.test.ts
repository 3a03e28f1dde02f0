import { describe, expect, it } from 'vitest';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import { gridSampler } from '#study/search/samplers/grid.ts';
import { hillClimbSampler } from '#study/search/samplers/hill-climb.ts';
import { manualSampler } from '#study/search/samplers/manual.ts';
import { nsga2Sampler } from '#study/search/samplers/nsga2.ts';
import { randomSampler } from '#study/search/samplers/random.ts';
import { tpeSampler } from '#study/search/samplers/tpe.ts';
import { goalOf } from './builders.ts';
import { drain, samplerSuite, smallSpace, smallSpaceSize } from './sampler-suite.ts';

const options = { goal: goalOf(8), levels: { mode: 'concurrency', low: 1, high: 64 } } as const;

samplerSuite('grid', (_, space) => gridSampler(space, options));
samplerSuite('queueing', (seed, space) => queueingSampler(space, { seed, ...options }));
samplerSuite('hill-climb', (_, space) => hillClimbSampler(space, options));
samplerSuite('tpe', (seed, space) => tpeSampler(space, seed, goalOf(8)));
samplerSuite('manual', (_, space, all) => manualSampler(space, [...all].reverse()));
samplerSuite('nsga2', (seed, space) => nsga2Sampler(space, seed, goalOf(8)));
samplerSuite('random', (seed, space) => randomSampler(space, seed));

describe('random', () => {
  it('reaches every candidate in the end', () => {
    expect(drain(randomSampler(smallSpace, 5)).trials).toHaveLength(1 + smallSpaceSize);
  });

  it('takes another order with another seed', () => {
    const order = (seed: number) =>
      drain(randomSampler(smallSpace, seed)).trials.map((trial) => trial.candidate.fingerprint);
    expect(order(1)).toEqual(order(1));
    expect(order(1)).not.toEqual(order(2));
  });

  it('draws first trials evenly over the seeds', () => {
    const draws = Array.from({ length: 1600 }, (_, seed) => {
      const answer = randomSampler(smallSpace, seed).ask({ trials: [] }, { trials: 1, seconds: 1 });
      const built = answer.kind === 'trial' ? smallSpace.build(answer.assignment) : null;
      if (!built?.legal) throw new Error('no legal proposal');
      return built.candidate;
    });
    const groups = Map.groupBy(draws, ({ fingerprint }) => fingerprint);
    expect(groups.size).toBe(smallSpaceSize);
    // Of 20 legal assignments of equal chance two are one candidate where the batch is 1; the
    // counts are binomial.
    for (const [fingerprint, drawn] of groups) {
      const chance = (drawn[0]?.shape.policy.maxBatchSize === 1 ? 2 : 1) / 20;
      const sd = Math.sqrt(draws.length * chance * (1 - chance));
      expect(Math.abs(drawn.length - draws.length * chance), fingerprint).toBeLessThan(4 * sd);
    }
  });
});
