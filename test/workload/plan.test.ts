import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '#base/units.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { computeMeanRate, createPlan, type PlanOptions } from '#workload/plan/plan-of.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { findDuration, type Workload } from '#workload/workload.ts';
import { coefficientOfVariation, correlation, countsIn, gapsOf, workloadOf } from './workloads.ts';

const seed = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const rate = fc.double({ min: 0.5, max: 200, noNaN: true });

/** Phases of every process, in seconds short enough to be drawn often. */
const phase = fc
  .record({
    durationS: fc.double({ min: 1, max: 20, noNaN: true }),
    arrivals: fc.oneof(
      fc.record({ process: fc.constantFrom('constant', 'poisson'), perSecond: rate }),
      fc.record({ process: fc.constant('gamma'), perSecond: rate, cv: fc.double({ min: 0.2, max: 5, noNaN: true }) }),
      fc.record({ process: fc.constant('ramp'), fromPerSecond: rate, toPerSecond: fc.constantFrom(0, 10, 300) }),
      fc.record({
        process: fc.constant('diurnal'),
        perSecond: rate,
        peakRatio: fc.double({ min: 1, max: 20, noNaN: true }),
        periodS: fc.double({ min: 2, max: 60, noNaN: true }),
      }),
      fc.record({
        process: fc.constant('trace'),
        atS: fc.array(fc.double({ min: 0, max: 40, noNaN: true }), { minLength: 3, maxLength: 200 }),
      }),
    ),
    weights: fc.option(
      fc.oneof(fc.constant({ a: 1, b: 2 }), fc.constant({ b: 1 }), fc.constant({ from: { a: 1 }, to: { c: 3 } })),
      { nil: undefined },
    ),
  })
  .map(({ weights, ...rest }) => (weights === undefined ? rest : { ...rest, weights }));
const file = fc.record({
  workloadVersion: fc.constant(1),
  classes: fc.constant({ a: { weight: 5 }, b: { weight: 3 }, c: { weight: 2 } }),
  // The first has requests whatever the scales, since a plan without any is refused.
  phases: fc
    .array(phase, { minLength: 1, maxLength: 4 })
    .map((phases) => [{ durationS: 2, arrivals: { process: 'poisson', perSecond: 20 } }, ...phases]),
});
const options = fc.record(
  { seed, meanPerSecond: fc.double({ min: 4, max: 300, noNaN: true }), timeScale: fc.constantFrom(0.25, 1, 2) },
  { requiredKeys: ['seed'] },
);

/** One check each of random workloads with random options. */
const check = async (of: (workload: Workload, asked: PlanOptions) => void): Promise<void> => {
  await fc.assert(
    fc.asyncProperty(file, options, async (content, asked) => of(await workloadOf(content), asked)),
    { numRuns: 60 },
  );
};

const perSecondOf = ({ arrivalsNs, durationNs }: ArrivalPlan): number => (arrivalsNs.length * NS_PER_S) / durationNs;
const computeShare = ({ classOf }: ArrivalPlan, index: number): number =>
  classOf.filter((each) => each === index).length / classOf.length;

describe('a plan of any workload', () => {
  it('has its requests in rising order within one pass, each of a class of the workload', async () => {
    await check((workload, asked) => {
      const { arrivalsNs, classOf, classes, durationNs } = createPlan(workload, asked);
      expect(classes).toEqual(['a', 'b', 'c']);
      expect(classOf).toHaveLength(arrivalsNs.length);
      expect(arrivalsNs.every((ns, index) => ns >= (arrivalsNs[index - 1] ?? 0) && ns < durationNs)).toBe(true);
      expect(classOf.every((each) => each < 3)).toBe(true);
    });
  });

  it('has the mean rate and the duration that are asked for, to the nearest request', async () => {
    await check((workload, asked) => {
      const { arrivalsNs, durationNs } = createPlan(workload, asked);
      expect(durationNs / NS_PER_S).toBeCloseTo(findDuration(workload) * (asked.timeScale ?? 1), 6);
      const wanted = ((asked.meanPerSecond ?? computeMeanRate(workload)) * durationNs) / NS_PER_S;
      expect(Math.abs(arrivalsNs.length - wanted)).toBeLessThanOrEqual(0.5 + 1e-6);
    });
  });

  it('is the same for the same seed, and another for another', async () => {
    await check((workload, asked) => {
      expect(createPlan(workload, asked)).toEqual(createPlan(workload, asked));
    });
    const poisson = await workloadOf({ phases: [{ durationS: 5, arrivals: { process: 'poisson', perSecond: 50 } }] });
    expect(createPlan(poisson, { seed: 1 })).not.toEqual(createPlan(poisson, { seed: 2 }));
  });

  it('is shortened to the most seconds, with its rates as they are', async () => {
    await check((workload, { seed: drawn }) => {
      const mostSeconds = findDuration(workload) / 4;
      const plan = createPlan(workload, { seed: drawn, mostSeconds });
      expect(plan.durationNs / NS_PER_S).toBeCloseTo(mostSeconds, 6);
      expect(plan).toEqual(createPlan(workload, { seed: drawn, timeScale: 1 / 4 }));
      expect(createPlan(workload, { seed: drawn, mostSeconds: 1e6 })).toEqual(createPlan(workload, { seed: drawn }));
    });
  });
});

const onePhase = (arrivals: object, durationS = 100, more: object = {}): Promise<Workload> =>
  workloadOf({ phases: [{ durationS, arrivals }], ...more });

describe('arrivals at a rate', () => {
  it('are evenly spaced from 0 on where the rate is constant', async () => {
    const { arrivalsNs } = createPlan(await onePhase({ process: 'constant', perSecond: 4 }, 2), { seed: 3 });
    expect([...arrivalsNs]).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((index) => index * 0.25 * NS_PER_S));
  });

  it('have the coefficient of variation that is asked for', async () => {
    await fc.assert(
      fc.asyncProperty(seed, fc.double({ min: 0.1, max: 4, noNaN: true }), async (drawn, cv) => {
        const plan = createPlan(await onePhase({ process: 'gamma', perSecond: 300, cv }), { seed: drawn });
        // The standard error of a cv grows with the cv: a tail of few long gaps holds most of the
        // variance.
        expect(Math.abs(coefficientOfVariation(gapsOf(plan)) / cv - 1)).toBeLessThan(0.04 + 0.05 * cv);
      }),
      { numRuns: 40 },
    );
  });

  it('of a Poisson process have gaps of the exponential distribution, also across the end of a pass', async () => {
    const plan = createPlan(await onePhase({ process: 'poisson', perSecond: 500 }), { seed: 5 });
    const gaps = gapsOf(plan).toSorted();
    // Kolmogorov's distance at the level of 1 in 1000.
    const distance = gaps.reduce(
      (most, gap, index) => Math.max(most, Math.abs(1 - Math.exp(-gap * 500e-9) - (index + 0.5) / gaps.length)),
      0,
    );
    expect(distance).toBeLessThan(1.95 / Math.sqrt(gaps.length));
    const seams = Array.from({ length: 400 }, (_, index) => {
      const { arrivalsNs, durationNs } = createPlan(workloadOfSeams, { seed: index });
      return ((arrivalsNs[0] as number) + durationNs - (arrivalsNs.at(-1) as number)) / NS_PER_S;
    });
    // The gap over a fixed moment is the sum of two exponential ones: what is left of it, and what
    // has passed.
    expect(seams.reduce((sum, gap) => sum + gap, 0) / seams.length).toBeCloseTo(2 / 20, 1);
  });

  it('of a ramp and of a day follow the rate', async () => {
    const ramp = createPlan(await onePhase({ process: 'ramp', fromPerSecond: 100, toPerSecond: 300, cv: 0 }, 60), {
      seed: 1,
    });
    const counts = countsIn(ramp, 6);
    for (const [index, count] of counts.entries()) {
      expect(Math.abs(count - (100 + (200 * (index + 0.5)) / 6) * 10)).toBeLessThanOrEqual(1);
    }
    const day = { process: 'diurnal', perSecond: 100, peakRatio: 3, periodS: 100, peakAtS: 20 };
    const hours = countsIn(createPlan(await onePhase(day), { seed: 1 }), 100);
    const mean = (from: number, to: number): number =>
      hours.slice(from, to).reduce((sum, count) => sum + count, 0) / (to - from);
    expect(mean(15, 25) / mean(65, 75)).toBeCloseTo(3, 0);
    expect(mean(0, 100)).toBeCloseTo(100, 6);
  });

  it('give each of many short phases its part, whole requests as they come', async () => {
    const phases = Array.from({ length: 300 }, () => ({
      durationS: 1,
      arrivals: { process: 'poisson', perSecond: 0.3 },
    }));
    const plan = createPlan(await workloadOf({ phases }), { seed: 1 });
    expect(plan.arrivalsNs).toHaveLength(90);
    expect(Math.max(...countsIn(plan, 30).map((count) => Math.abs(count - 3)))).toBeLessThanOrEqual(1);
  });
});

describe('classes', () => {
  it('have the shares of their weights, and those of a phase where it has its own', async () => {
    const classes = { a: { weight: 6 }, b: { weight: 3 }, c: { weight: 1 } };
    const plan = createPlan(await onePhase({ process: 'poisson', perSecond: 100 }, 100, { classes }), { seed: 1 });
    for (const [index, share] of [0.6, 0.3, 0.1].entries()) expect(computeShare(plan, index)).toBeCloseTo(share, 3);
    // Neighbours are independent: as many equal ones as the shares say.
    const equal = plan.classOf.filter((each, index) => each === plan.classOf[index + 1]).length / plan.classOf.length;
    expect(equal).toBeCloseTo(0.36 + 0.09 + 0.01, 1);
  });

  it('shift evenly from one mix to the other', async () => {
    const shift = { from: { a: 1 }, to: { a: 1, b: 3 } };
    const workload = await workloadOf({
      classes: { a: {}, b: {} },
      phases: [{ durationS: 100, arrivals: { process: 'poisson', perSecond: 200 }, weights: shift }],
    });
    const { classOf } = createPlan(workload, { seed: 1 });
    const quarter = classOf.length / 4;
    for (const [index, share] of [1, 3, 5, 7].map((eighth) => (0.75 * eighth) / 8).entries()) {
      const own = classOf.subarray(index * quarter, (index + 1) * quarter);
      expect(own.filter((each) => each === 1).length / own.length).toBeCloseTo(share, 1);
    }
  });
});

describe('sessions', () => {
  it('send their turns at think times, of one class, and keep the mean rate', async () => {
    const sessions = { turns: { kind: 'constant', value: 3 }, thinkTimeMs: { kind: 'constant', value: 2000 } };
    const workload = await workloadOf({
      classes: { a: {}, b: {} },
      sessions,
      phases: [{ durationS: 100, arrivals: { process: 'constant', perSecond: 1 } }],
    });
    expect(computeMeanRate(workload)).toBe(3);
    const { arrivalsNs, classOf } = createPlan(workload, { seed: 1 });
    expect(arrivalsNs).toHaveLength(300);
    // Starts at every second, and turns two and four seconds later: each second has three requests,
    // of three sessions.
    expect([...arrivalsNs].map((ns) => Math.floor(ns / NS_PER_S + 1e-9))).toEqual(
      Array.from({ length: 300 }, (_, index) => Math.floor(index / 3)),
    );
    expect([...classOf].filter((each) => each === 0)).toHaveLength(150);
  });

  it('of random length keep the rate that is asked for', async () => {
    const sessions = {
      turns: { kind: 'log-normal', mean: 4, std: 3 },
      thinkTimeMs: { kind: 'normal', mean: 5000, std: 3000, min: 100 },
    };
    const workload = await onePhase({ process: 'poisson', perSecond: 2 }, 200, { sessions });
    expect(computeMeanRate(workload) / 2).toBeCloseTo(4, 0);
    expect(perSecondOf(createPlan(workload, { seed: 1, meanPerSecond: 20 }))).toBe(20);
  });
});

describe('a trace', () => {
  /** Bursts of about 400 requests in a second, and a tenth of that between them. */
  const bursty = async (): Promise<Workload> => {
    const phases = Array.from({ length: 40 }, (_, index) => ({
      durationS: 5,
      arrivals: { process: 'poisson', perSecond: index % 4 === 0 ? 400 : 40 },
    }));
    const { arrivalsNs } = createPlan(await workloadOf({ phases }), { seed: 11 });
    return parseWorkload(
      JSON.stringify({
        workloadVersion: 1,
        phases: [{ durationS: 200, arrivals: { process: 'trace', atS: [...arrivalsNs].map((ns) => ns / NS_PER_S) } }],
      }),
      'bursty.json',
    );
  };

  it('is played as it was recorded at its own rate', async () => {
    const atS = [3, 0, 1, 1, 7.25];
    const workload = await workloadOf({
      classes: { a: {}, b: {} },
      phases: [{ arrivals: { process: 'trace', atS, classOf: ['a', 'b', 'b', 'a', 'a'] } }],
    });
    const plan = createPlan(workload, { seed: 1 });
    expect([...plan.arrivalsNs]).toEqual([0, 1, 1, 3, 7.25].map((second) => second * NS_PER_S));
    expect([...plan.classOf]).toEqual([1, 1, 0, 0, 0]);
    expect(plan.durationNs / NS_PER_S).toBeCloseTo((7.25 * 5) / 4, 9);
  });

  it('keeps its shape at any rate and in any time', async () => {
    const workload = await bursty();
    const own = countsIn(createPlan(workload, { seed: 1 }), 40);
    for (const factor of [0.5, 0.9, 1.3, 2, 7.5]) {
      for (const timeScale of [0.5, 1, 2]) {
        const plan = createPlan(workload, { seed: 2, meanPerSecond: factor * computeMeanRate(workload), timeScale });
        expect(perSecondOf(plan) / (factor * computeMeanRate(workload))).toBeCloseTo(1, 3);
        expect(correlation(countsIn(plan, 40), own)).toBeGreaterThan(0.98);
      }
    }
  });

  it('keeps the variation of its gaps when it is superposed, as independent users would', async () => {
    const { arrivalsNs } = createPlan(await onePhase({ process: 'poisson', perSecond: 50 }, 200), { seed: 4 });
    const workload = await onePhase({ process: 'trace', atS: [...arrivalsNs].map((ns) => ns / NS_PER_S) }, 200);
    const plan = createPlan(workload, { seed: 2, meanPerSecond: 500 });
    expect(coefficientOfVariation(gapsOf(plan))).toBeCloseTo(1, 1);
    // Counts of 10 ms vary little more than those of a Poisson process, whose variance is its mean.
    const counts = countsIn(plan, 20_000);
    expect(coefficientOfVariation(counts) ** 2 * 5).toBeLessThan(1.2);
  });

  it('has each recorded request once when it is thinned, and its classes keep their requests', async () => {
    const workload = await workloadOf({
      classes: { a: {}, b: {} },
      phases: [
        {
          arrivals: {
            process: 'trace',
            atS: [0, 1, 2, 3, 4, 5, 6, 7],
            classOf: ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'],
          },
        },
      ],
    });
    const seen = new Set<number>();
    for (let drawn = 0; drawn < 50; drawn++) {
      const { arrivalsNs, classOf } = createPlan(workload, { seed: drawn, meanPerSecond: 0.5 });
      expect(arrivalsNs).toHaveLength(4);
      for (const [index, ns] of arrivalsNs.entries()) {
        seen.add(ns / NS_PER_S);
        expect(classOf[index]).toBe((ns / NS_PER_S) % 2);
      }
    }
    expect(seen.size).toBe(8);
  });

  it('of a coarse clock is spread over its steps', async () => {
    const atS = Array.from({ length: 1000 }, (_, index) => Math.floor(index / 100));
    const workload = await onePhase({ process: 'trace', atS, resolutionS: 1 }, 10);
    const plan = createPlan(workload, { seed: 1 });
    expect(new Set(plan.arrivalsNs).size).toBe(1000);
    expect(countsIn(plan, 10)).toEqual(Array.from({ length: 10 }, () => 100));
    expect(coefficientOfVariation(gapsOf(plan))).toBeCloseTo(1, 0);
  });
});

describe('a plan that cannot be', () => {
  it('is refused with what to do', async () => {
    const workload = await onePhase({ process: 'poisson', perSecond: 100 }, 100_000);
    expect(() => createPlan(workload, { seed: 1, meanPerSecond: 1e6 })).toThrow(/more than 50000000/);
    expect(() => createPlan(workload, { seed: 1, timeScale: 1e-9 })).toThrow(/no request/);
  });
});

const workloadOfSeams = await onePhase({ process: 'poisson', perSecond: 20 }, 10);
