import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { createKernel, type Place, placeOfOne } from '#perfmodel/places.ts';
import { settingFactors } from '#perfmodel/setting-effects.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { averagedPosterior, computePosterior, findExplanation, matern52 } from '#stats/gaussian-process.ts';
import { chanceBelow, expectedImprovement } from '#stats/normal.ts';
import { coarseLevels, fineLevels } from '#study/search/queueing/candidate-levels.ts';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import type { Trial } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { configOf, goalOf, measured, toCandidate, trialOf } from './builders.ts';
import { smallSpace, startOf } from './sampler-suite.ts';
import { measuredAt } from './simulated.ts';

const levels = { mode: 'concurrency', low: 1, high: 64 } as const;
const unlimited = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };
const choice = (instances: number, batch: number, delayUs: number | null) =>
  toChoice(
    toCandidate(
      configOf(
        instances,
        batch,
        delayUs === null ? {} : { dynamic_batching: { max_queue_delay_microseconds: delayUs } },
      ),
    ),
  );

describe('the Gaussian process', () => {
  const line = (scale: number) => ({
    kernel: (a: number, b: number) => scale ** 2 * matern52(Math.abs(a - b)),
    logPrior: 0,
  });
  const reading = (place: number, value: number) => ({ place, value, noiseVariance: 1e-6 });

  it('goes through exact readings, and knows less the farther away', () => {
    const posterior = computePosterior([reading(0, 1), reading(2, -0.5)], [line(1)]);
    expect(posterior(0).mean).toBeCloseTo(1, 3);
    expect(posterior(2).mean).toBeCloseTo(-0.5, 3);
    expect(posterior(0).sd).toBeLessThan(0.01);
    expect(posterior(3).sd).toBeLessThan(posterior(5).sd);
    expect(posterior(50)).toMatchObject({ mean: expect.closeTo(0, 6), sd: expect.closeTo(1, 6) });
  });

  it('takes the middle of two readings of one place, by their noise', () => {
    const twice = [
      { place: 0, value: 1, noiseVariance: 0.01 },
      { place: 0, value: 0, noiseVariance: 0.03 },
    ];
    expect(computePosterior(twice, [line(10)])(0).mean).toBeCloseTo(0.75, 2);
  });

  it('believes the hypothesis that the readings are likely under', () => {
    const wild = [reading(0, 2), reading(3, -2), reading(6, 2)];
    expect(computePosterior(wild, [line(0.1), line(2)])(100).sd).toBeCloseTo(2, 3);
    const calm = wild.map((each) => ({ ...each, value: each.value / 40 }));
    expect(computePosterior(calm, [line(0.1), line(2)])(100).sd).toBeCloseTo(0.1, 3);
  });

  it('averages over hypotheses by how likely they are, and is less sure where they disagree', () => {
    const nowhereAlike = { kernel: (a: number, b: number): number => (a === b ? 1 : 0), logPrior: 0 };
    const readings = [reading(0, 0.9)];
    const averaged = (logPrior: number) => {
      const { fits } = findExplanation(readings, [{ kernel: () => 1, logPrior }, nowhereAlike]);
      return averagedPosterior(readings, fits)(5);
    };
    const { mean, sd } = averaged(Math.log(2));
    expect(mean).toBeCloseTo((2 / 3) * 0.9, 3);
    expect(sd ** 2).toBeCloseTo(1 / 3 + (2 / 9) * 0.9 ** 2, 3);
    expect(averaged(9).mean).toBeCloseTo(0.9, 3);
  });

  it('says before any reading what the first hypothesis says', () => {
    expect(computePosterior([], [line(0.3)])(1)).toEqual({ mean: 0, sd: expect.closeTo(0.3, 9) });
  });
});

describe('expected improvement', () => {
  it('is what integration gives', () => {
    const integral = (mean: number, sd: number, best: number): number => {
      let sum = 0;
      for (let z = -8; z < 8; z += 1e-3)
        sum += (Math.max(0, best - (mean + sd * z)) * Math.exp((-z * z) / 2) * 1e-3) / Math.sqrt(2 * Math.PI);
      return sum;
    };
    for (const [mean, sd, best] of [
      [0, 1, 0],
      [1, 0.5, 0],
      [-0.3, 0.2, 0.1],
    ] as const)
      expect(expectedImprovement({ mean, sd }, best)).toBeCloseTo(integral(mean, sd, best), 4);
  });

  it('grows with uncertainty and with the distance by which the mean is better, and is never negative', () => {
    const figures = fc.double({ min: -3, max: 3, noNaN: true });
    fc.assert(
      fc.property(figures, figures, fc.double({ min: 0.01, max: 2, noNaN: true }), (mean, best, sd) => {
        const gain = expectedImprovement({ mean, sd }, best);
        expect(gain).toBeGreaterThanOrEqual(Math.max(0, best - mean) - 1e-6);
        expect(expectedImprovement({ mean, sd: 2 * sd }, best)).toBeGreaterThanOrEqual(gain - 1e-6);
        expect(expectedImprovement({ mean: mean - 0.1, sd }, best)).toBeGreaterThanOrEqual(gain - 1e-6);
      }),
    );
  });

  it('knows certain and impossible chances', () => {
    expect([chanceBelow(Number.POSITIVE_INFINITY), chanceBelow(Number.NEGATIVE_INFINITY)]).toEqual([1, 0]);
    expect(chanceBelow(1.96)).toBeCloseTo(0.975, 3);
  });
});

describe('settings that the queueing model does not know', () => {
  const plain = new Map([['precision', 'FP32']]);
  const half = new Map([['precision', 'FP16']]);
  const graphs = new Map([...plain, ['graphs', 'true']]);
  const both = new Map([...half, ['graphs', 'true']]);

  it('are about as fast as the known ones, with uncertainty, until one measurement tells', () => {
    expect(settingFactors(plain, [])(half)).toMatchObject({ mean: 0, sd: expect.closeTo(0.45, 6) });
    expect(settingFactors(plain, [])(plain).sd).toBeLessThan(0.01);
    const known = settingFactors(plain, [{ place: half, value: Math.log(0.5), noiseVariance: 0.0025 }]);
    expect(known(half).mean).toBeCloseTo(Math.log(0.5), 1);
    expect(known(half).sd).toBeLessThan(0.06);
  });

  it('have effects of their own, which carry over to combinations', () => {
    const known = settingFactors(plain, [{ place: half, value: Math.log(0.5), noiseVariance: 0.0025 }]);
    expect(known(both).mean).toBeLessThan(-0.2);
    expect(known(both).sd).toBeLessThan(settingFactors(plain, [])(both).sd);
    expect(known(graphs).mean).toBeCloseTo(0, 9);
  });
});

describe('places', () => {
  it('are the same where nothing differs that could be seen', () => {
    const at = (batch: number, delay: number | null, level: number) =>
      placeOfOne(choice(2, batch, delay), level, 5000).coordinates;
    expect(at(8, 0, 1)).toEqual(at(64, 5000, 1));
    expect(at(8, 0, 4)).toEqual(at(64, 0, 4));
    expect(at(8, 0, 16)).not.toEqual(at(64, 0, 16));
    expect(at(64, null, 16)).toEqual(at(1, null, 16));
    expect(at(64, 0, 16)).not.toEqual(at(64, 5000, 16));
  });

  it('share less of an error the farther apart, and other settings are apart', () => {
    const kernel = createKernel({ smooth: 0.3, common: 0.1, local: 0.05 });
    const here = placeOfOne(choice(1, 8, 0), 8, 0);
    const there: Place = { ...here, settings: new Map([['precision', 'FP16']]) };
    expect(kernel(here, here)).toBeCloseTo(0.3 ** 2 + 0.1 ** 2 + 0.05 ** 2, 9);
    expect(kernel(here, placeOfOne(choice(1, 8, 0), 16, 0))).toBeGreaterThan(
      kernel(here, placeOfOne(choice(4, 8, 0), 64, 0)),
    );
    expect(kernel(here, there)).toBeLessThan(kernel(here, here));
  });
});

describe('levels to look at', () => {
  it('fill the instances, stay in the range, and never come twice', () => {
    const range = { mode: 'concurrency', low: 2, high: 100 } as const;
    for (const [instances, batch] of [
      [1, 1],
      [2, 8],
      [4, 64],
    ] as const) {
      const found = coarseLevels(choice(instances, batch, 0), range);
      expect(found).toContain(Math.min(100, Math.max(2, instances * batch)));
      expect(new Set(found).size).toBe(found.length);
      for (const level of [...found, ...fineLevels(found[0] as number, range)]) {
        expect(Number.isInteger(level)).toBe(true);
        expect(level).toBeGreaterThanOrEqual(2);
        expect(level).toBeLessThanOrEqual(100);
      }
    }
  });
});

describe('coarse levels', () => {
  it('are whole batches, also one that waits while all instances are busy', () => {
    expect(coarseLevels(choice(2, 32, 2000), { mode: 'concurrency', low: 1, high: 256 })).toContain(96);
  });
});

/** What comes of a trial of a config that begins at a level. */
type Outcome = (config: ModelConfig, level: number) => Partial<Trial>;

/** What a search meets, and what it then says. */
interface Stopping {
  readonly when: string;
  readonly reason: RegExp;
  readonly asked?: Partial<Parameters<typeof queueingSampler>[1]>;
  readonly original?: Partial<Trial>;
  readonly outcome: Outcome;
}

describe('the queueing sampler', () => {
  const make = (latencyMs = 8) => queueingSampler(smallSpace, { seed: 1, goal: goalOf(latencyMs), levels });

  it('proposes where to begin with the levels', () => {
    const answer = make().ask({ trials: [trialOf(0, configOf(9, 9))] }, unlimited);
    expect(answer).toMatchObject({ kind: 'trial', levels: { kind: 'search', start: expect.any(Number) } });
  });

  it.each<[string, Partial<Parameters<typeof queueingSampler>[1]>]>([
    ['the highest throughput without a budget', { goal: goalOf(null) }],
    [
      'the lowest latency at a throughput',
      {
        goal: goalOf(null, {
          objectives: [{ metric: 'latency', weight: 1 }],
          constraints: [{ metric: 'throughput', relation: '>=', value: 80 }],
        }),
      },
    ],
    ['the fewest instances', { goal: goalOf(8, { objectives: [{ metric: 'instances', weight: 1 }] }) }],
    [
      'a metric that the server does not have',
      { goal: goalOf(8, { constraints: [{ metric: 'gpu-memory', relation: '<=', value: 100 }] }) },
    ],
    ['request rates', { levels: { mode: 'request-rate', low: 10, high: 2000 } }],
  ])('can be asked for %s', (_, asked) => {
    const options = { seed: 1, goal: goalOf(8), levels, ...asked };
    const { mode, low, high } = options.levels;
    const baseline = trialOf(0, configOf(9, 9), {
      measurements: [measured(20, 100, 5, { level: { mode, value: 20 } })],
    });
    const answer = queueingSampler(smallSpace, options).ask({ trials: [baseline] }, unlimited);
    if (answer.kind !== 'trial' || answer.levels.kind !== 'search')
      throw new Error('no proposal with a search of levels');
    expect(answer.levels.start).toBeGreaterThanOrEqual(low);
    expect(answer.levels.start).toBeLessThanOrEqual(high);
  });

  it.each([
    ['with a budget', goalOf(8)],
    [
      'for another objective, too',
      goalOf(null, {
        objectives: [{ metric: 'instances', weight: 1 }],
        constraints: [{ metric: 'throughput', relation: '>=', value: 80 }],
      }),
    ],
  ])('says which front it predicts, %s', (_, goal) => {
    const answer = queueingSampler(smallSpace, { seed: 1, goal, levels }).ask(
      { trials: [trialOf(0, configOf(9, 9), { measurements: [measured(8, 100, 5)] })] },
      unlimited,
    );
    if (answer.kind !== 'trial') throw new Error('no proposal');
    const front = answer.foreseen ?? [];
    expect(front.length).toBeGreaterThan(2);
    for (const [index, { throughput, latencyMs }] of front.entries()) {
      expect(throughput).toBeGreaterThan(front[index - 1]?.throughput ?? 0);
      expect(latencyMs).toBeGreaterThan(front[index - 1]?.latencyMs ?? 0);
    }
  });

  it('asks for fewer instances than the original where that is the objective', () => {
    const goal = goalOf(1000, { objectives: [{ metric: 'instances', weight: 1 }] });
    const answer = queueingSampler(smallSpace, { seed: 1, goal, levels }).ask(
      { trials: [trialOf(0, configOf(9, 9))] },
      unlimited,
    );
    expect(answer).toMatchObject({ kind: 'trial', assignment: { count: 1 } });
  });

  it('returns to a candidate at another level, but neither to one that failed nor again and again', () => {
    const sampler = make(1000);
    // One candidate far ahead of all others, measured where it can do much more.
    const far = smallSpace.build({ delay: 0, batch: 8, count: 4 });
    if (!far.legal) throw new Error('no such candidate');
    const trialAt = (number: number, level: number, failed = false): Trial => ({
      ...trialOf(number, toModelConfig(far.candidate), {
        measurements: failed ? [] : [measured(level, 2000 * level, 2)],
      }),
      candidate: far.candidate,
      ...(failed && { failure: { kind: 'skipped', reason: 'skipped' } as const }),
    });
    const proposed = (trials: readonly Trial[]) =>
      sampler.ask({ trials: [trialOf(0, configOf(9, 9)), ...trials] }, unlimited);
    expect(proposed([trialAt(1, 2)])).toMatchObject({ kind: 'trial', assignment: { batch: 8, count: 4 } });
    expect(proposed([trialAt(1, 2), trialAt(2, 2, true)])).not.toMatchObject({ assignment: { batch: 8, count: 4 } });
    const often = [trialAt(1, 2), trialAt(2, 4), trialAt(3, 6)];
    expect(proposed(often)).not.toMatchObject({ assignment: { batch: 8, count: 4 } });
  });

  it('begins where it would without it when the original config was measured at rest first, and learns from that', () => {
    const { candidate } = trialOf(0, configOf(2, 8, { dynamic_batching: {} }));
    const levelAfter = (role: 'baseline' | 'search', measurements: readonly Measurement[]) =>
      make().level?.({ trials: [] }, { number: 0, role, candidate, measurements });
    expect(levelAfter('baseline', [measured(1, 200, 5)])).toBe(levelAfter('baseline', []));
    expect(levelAfter('baseline', [])).toBeGreaterThan(1);
    expect(levelAfter('search', [measured(1, 200, 5)])).not.toBe(levelAfter('search', []));
  });

  it('looks for the own best level of an original config also where it is far behind the best of the search', () => {
    const original = trialOf(0, configOf(2, 4), { measurements: [measured(1, 200, 5)] });
    const far = trialOf(1, configOf(4, 8, { dynamic_batching: {} }), { measurements: [measured(40, 60_000, 6)] });
    const { candidate, measurements } = original;
    const level = make().level?.({ trials: [original, far] }, { number: 0, role: 'baseline', candidate, measurements });
    expect(level).toBeGreaterThan(1);
  });

  it('holds for luck what met the goal once and missed it at every other reading, not what is as its like', () => {
    const { candidate } = trialOf(1, configOf(2, 4));
    const read = (number: number, latencyMs: number): Trial => {
      const budgetLatencyMs = { value: latencyMs, low: 0.7 * latencyMs, high: 1.3 * latencyMs, percentile: 99 };
      return {
        ...trialOf(number, toModelConfig(candidate), {
          measurements: [measured(8, 1100, latencyMs, { budgetLatencyMs })],
        }),
      };
    };
    const doubted = (...latencies: readonly number[]) =>
      make().doubted?.({ trials: [trialOf(0, configOf(9, 9)), ...latencies.map((ms, index) => read(index + 1, ms))] });
    expect(doubted(12, 11.5, 7.9)).toEqual([{ trial: 3, reading: 0 }]);
    expect(doubted(7.4, 7.2, 7.9)).toEqual([]);
    expect(doubted(6)).toEqual([]);
  });

  it.each([
    ['brought none', 1, 0.01],
    ['brought only what may be chance', 1.015, 0.04],
  ])('believes a promise of gain the less, the more trials in a row %s', (_, growth, halfWidth) => {
    const trials = [trialOf(0, configOf(9, 9))];
    const sampler = make();
    for (let number = 1; ; number++) {
      const answer = sampler.ask({ trials }, unlimited);
      if (answer.kind === 'stop') {
        expect(answer.reason).toMatch(/the model predicts [\d.]+ %, but the last \d+ trials gained nothing/);
        const failure = { kind: 'skipped', reason: 'skipped' } as const;
        const skipped = { ...trialOf(number, configOf(7, 7), { measurements: [] }), failure };
        expect(sampler.ask({ trials: [...trials, skipped] }, unlimited)).toMatchObject({
          // Its own cost may be another: another candidate may be the next.
          reason: expect.stringContaining(/expected to gain [^;]*/.exec(answer.reason)?.[0] ?? 'no gain'),
        });
        expect(number).toBeLessThan(40);
        const early = sampler.ask({ trials }, { ...unlimited, pace: 'early' });
        expect(early, 'as long as it is early, it is believed').toMatchObject({ kind: 'trial' });
        return;
      }
      const built = smallSpace.build(answer.assignment);
      if (!built.legal) throw new Error(built.reason);
      const level = startOf(answer);
      const value = 100 * growth ** number;
      const throughput = { value, low: value * (1 - halfWidth), high: value * (1 + halfWidth) };
      const measurements = [measured(level, value, 4, { throughput })];
      trials.push({ ...trialOf(number, toModelConfig(built.candidate), { measurements }), candidate: built.candidate });
    }
  });

  it('leaves a candidate whose levels say nothing more', () => {
    const { candidate } = trialOf(1, configOf(2, 4));
    const measurements = [1, 2, 4, 8].map((level) => measured(level, 100, level));
    const running = { number: 1, role: 'search', candidate, measurements } as const;
    expect(make().level?.({ trials: [trialOf(0, configOf(9, 9))] }, running)).toBeNull();
  });

  const failed = {
    measurements: [],
    chosen: null,
    feasible: false,
    failure: { kind: 'load-timeout', reason: 'x' },
  } as const;

  it.each<Stopping>([
    {
      when: 'every candidate failed',
      reason: /^every candidate of the search space was tried$/,
      outcome: () => failed,
    },
    {
      when: 'nothing comes near the goal',
      reason: /^no other candidate is likely to be better within the goal$/,
      original: { measurements: [measured(1, 100, 500)], feasible: false },
      outcome: (_, level) => ({ measurements: [measured(level, 100, 500)], feasible: false }),
    },
    {
      when: 'the original config is far better than anything can be',
      reason: /^the next trial costs about [\d.]+ m?s and is expected to gain 0\.\d %$/,
      original: { measurements: [measured(20, 1e6, 1)] },
      outcome: (config, level) => ({ measurements: [measuredAt(config, level)] }),
    },
    {
      when: 'only a large gain is worth a trial',
      reason:
        /^the next trial costs about [\d.]+ m?s and is expected to gain [\d.]+ %; after \d+ trials the next must promise 50\.0 %$/,
      asked: { leastGain: 0.5 },
      outcome: (config, level) => ({ measurements: [measuredAt(config, level)] }),
    },
    {
      when: 'no trial is better than another',
      reason:
        /^the next trial costs about [\d.]+ m?s and is expected to gain [\d.]+ %: the model predicts [\d.]+ %, but the last \d+ trials gained nothing; after \d+ trials the next must promise [\d.]+ %$/,
      outcome: (_, level) => ({ measurements: [measured(level, 100, 5)] }),
    },
  ])('says why it stops when $when', ({ reason, asked, original = {}, outcome }) => {
    const sampler = queueingSampler(smallSpace, { seed: 1, goal: goalOf(8), levels, ...asked });
    const trials = [trialOf(0, configOf(9, 9), original)];
    for (let number = 1; number < 60; number++) {
      const answer = sampler.ask({ trials }, unlimited);
      if (answer.kind === 'stop') {
        expect(answer.reason).toMatch(reason);
        return;
      }
      const built = smallSpace.build(answer.assignment);
      if (!built.legal) throw new Error(built.reason);
      const { candidate } = built;
      const config = toModelConfig(candidate);
      trials.push({ ...trialOf(number, config, outcome(config, startOf(answer))), candidate });
    }
    throw new Error('it does not stop');
  });
});
