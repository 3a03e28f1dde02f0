import { describe, expect, it } from 'vitest';
import { gridSampler } from '../../src/study/samplers/grid.ts';
import { hillClimbSampler } from '../../src/study/samplers/hill-climb.ts';
import { manualSampler } from '../../src/study/samplers/manual.ts';
import { nsga2Sampler } from '../../src/study/samplers/nsga2.ts';
import { queueingSampler } from '../../src/study/samplers/queueing.ts';
import { randomSampler } from '../../src/study/samplers/random.ts';
import { tpeSampler } from '../../src/study/samplers/tpe.ts';
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
    const firsts = new Map<string, number>();
    for (let seed = 0; seed < 1600; seed++) {
      const answer = randomSampler(smallSpace, seed).ask({ trials: [] }, { trials: 1, seconds: 1 });
      const built = answer.kind === 'trial' ? smallSpace.build(answer.assignment) : null;
      if (!built?.legal) throw new Error('no legal proposal');
      firsts.set(built.candidate.fingerprint, (firsts.get(built.candidate.fingerprint) ?? 0) + 1);
    }
    expect(firsts.size).toBe(smallSpaceSize);
    // 20 legal assignments of equal chance; candidates of batch 1 have two of them.
    for (const count of firsts.values()) {
      expect(count).toBeGreaterThan(40);
      expect(count).toBeLessThan(240);
    }
  });
});
