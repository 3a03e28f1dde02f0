import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogFigure } from '#perfmodel/correction.ts';
import { expectedImprovement } from '#stats/normal.ts';
import {
  type Cost,
  cheaperChance,
  constrainedImprovement,
  type FigureConstraint,
  feasibleChance,
  weighted,
} from '#study/search/queueing/constrained-improvement.ts';

const figure = (mean: number, sd: number, shared = 0): LogFigure => ({ mean, sd, shared });
/** A cost without steps. */
const plain = (mean: number, sd: number, shared = 0): Cost => ({ linear: figure(mean, sd, shared), stepped: [] });
const atMost = (value: number, of: LogFigure): FigureConstraint => ({ figure: of, value, relation: '<=' });

describe('the gain that is expected within limits', () => {
  const sd = fc.double({ min: 0.02, max: 1, noNaN: true });
  const mean = fc.double({ min: -1, max: 1, noNaN: true });

  it('is the chance times the improvement where figures have nothing in common', () => {
    fc.assert(
      fc.property(mean, sd, mean, sd, fc.integer({ min: 1, max: 4 }), (cost, costSd, latency, latencySd, inflation) => {
        const limits = [atMost(0, figure(latency, latencySd))];
        const chance = feasibleChance(limits, inflation);
        const improvement = expectedImprovement({ mean: cost, sd: costSd * inflation }, 0);
        expect(constrainedImprovement(plain(cost, costSd), limits, 0, inflation)).toBeCloseTo(chance * improvement, 9);
      }),
    );
  });

  it('is the improvement alone without limits, however much is shared', () => {
    fc.assert(
      fc.property(mean, sd, fc.double({ min: -0.95, max: 0.95, noNaN: true }), (cost, costSd, part) => {
        const gain = constrainedImprovement(plain(cost, costSd, part * costSd), [], 0, 1);
        const exact = expectedImprovement({ mean: cost, sd: costSd }, 0);
        // The steps of the shared part end at three deviations.
        expect(Math.abs(gain - exact)).toBeLessThan(0.01 * costSd + 0.01 * exact);
      }),
    );
  });

  it('is larger where shorter executions would be both faster and within the budget, smaller where they cannot be', () => {
    const late = (shared: number) => [atMost(0, figure(0.5, 0.4, shared))];
    const apart = constrainedImprovement(plain(0.1, 0.4), late(0), 0, 1);
    expect(constrainedImprovement(plain(0.1, 0.4, 0.35), late(0.35), 0, 1)).toBeGreaterThan(1.5 * apart);
    expect(constrainedImprovement(plain(0.1, 0.4, 0.35), late(-0.35), 0, 1)).toBeLessThan(0.5 * apart);
  });

  it('takes limits from below too', () => {
    const rate: FigureConstraint = { figure: figure(0.5, 0.5), value: 0, relation: '>=' };
    expect(feasibleChance([rate], 1)).toBeCloseTo(0.8413, 3);
    expect(feasibleChance([rate, atMost(0.5, figure(0.5, 0.5))], 1)).toBeCloseTo(0.8413 / 2, 3);
  });

  it('adds what figures share, and the rest as what is independent', () => {
    const sum = weighted([
      { figure: figure(1, 0.5, 0.3), weight: 0.5 },
      { figure: figure(2, 0.5, -0.3), weight: 0.5 },
    ]);
    expect(sum.mean).toBeCloseTo(1.5, 12);
    expect(sum.shared).toBeCloseTo(0, 12);
    expect(sum.sd).toBeCloseTo(Math.hypot(0.2, 0.2), 12);
  });
});

describe('the chance to be cheaper within limits', () => {
  const sd = fc.double({ min: 0.02, max: 1, noNaN: true });
  const mean = fc.double({ min: -1, max: 1, noNaN: true });

  it('is what the improvement loses for each bit that the best is better', () => {
    fc.assert(
      fc.property(
        mean,
        sd,
        mean,
        sd,
        fc.double({ min: -0.9, max: 0.9, noNaN: true }),
        (cost, costSd, late, lateSd, part) => {
          const limits = [atMost(0, figure(late, lateSd, part * lateSd))];
          const at = (best: number): number =>
            constrainedImprovement(plain(cost, costSd, part * costSd), limits, best, 1);
          const slope = (at(1e-4) - at(-1e-4)) / 2e-4;
          expect(cheaperChance(plain(cost, costSd, part * costSd), limits, 0, 1)).toBeCloseTo(slope, 4);
        },
      ),
    );
  });

  it('counts the steps of a cost', () => {
    const whole: Cost = {
      linear: figure(0, 0),
      stepped: [{ figure: figure(0, 0.1), weight: 1, of: (logarithm) => Math.ceil(logarithm) }],
    };
    // Half of the time one replica more is needed.
    expect(cheaperChance(whole, [], 0.5, 1)).toBeCloseTo(0.5, 0);
    expect(cheaperChance(whole, [], 1.5, 1)).toBeCloseTo(1, 2);
    expect(cheaperChance(whole, [], -0.5, 1)).toBeCloseTo(0, 2);
  });
});
