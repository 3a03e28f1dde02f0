import { describe, expect, it } from 'vitest';
import { gridSampler } from '../../src/study/samplers/grid.ts';
import { hillClimbSampler } from '../../src/study/samplers/hill-climb.ts';
import { manualSampler } from '../../src/study/samplers/manual.ts';
import { queueingSampler } from '../../src/study/samplers/queueing.ts';
import { randomSampler } from '../../src/study/samplers/random.ts';
import { tpeSampler } from '../../src/study/samplers/tpe.ts';
import { goalOf } from './builders.ts';
import { drain, samplerSuite, smallSpace, smallSpaceSize } from './sampler-suite.ts';

samplerSuite('grid', () => gridSampler(smallSpace));
samplerSuite('queueing', (seed) =>
  queueingSampler(smallSpace, { seed, goal: goalOf(8), levels: { mode: 'concurrency', low: 1, high: 64 } }),
);
samplerSuite('hill-climb', () =>
  hillClimbSampler(smallSpace, { goal: goalOf(8), levels: { mode: 'concurrency', low: 1, high: 64 } }),
);
samplerSuite('tpe', (seed) => tpeSampler(smallSpace, seed, goalOf(8)));
samplerSuite('manual', () => manualSampler(smallSpace, [...smallSpace.assignments()].reverse()));
samplerSuite('random', (seed) => randomSampler(smallSpace, seed));

describe('grid', () => {
  it('goes through the space in its own order, which varies instances fastest', () => {
    const { trials } = drain(gridSampler(smallSpace));
    const order = trials.slice(1).map(({ candidate }) => Object.values(candidate.assignment).join('/'));
    expect(order).toEqual([
      ...['0/1/1', '0/1/2', '0/1/3', '0/1/4'],
      ...['0/4/1', '0/4/2', '0/4/3', '0/4/4'],
      ...['0/8/1', '0/8/2', '0/8/3', '0/8/4'],
      ...['100/4/1', '100/4/2', '100/4/3', '100/4/4'],
    ]);
  });
});

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
