import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decidingIndex, parseRobustRule, robustFigure } from '#workload/robust-rule.ts';

const figures = [
  { value: 10, weight: 6 },
  { value: 30, weight: 1 },
  { value: 20, weight: 3 },
];

describe('robustFigure', () => {
  it('takes the highest figure of which less is better, and the lowest of which more is', () => {
    expect(robustFigure({ kind: 'worst' }, 'lower', figures)).toBe(30);
    expect(robustFigure({ kind: 'worst' }, 'higher', figures)).toBe(10);
  });

  it('takes the mean by weights', () => {
    expect(robustFigure({ kind: 'mean' }, 'lower', figures)).toBeCloseTo(15, 12);
  });

  it('takes the best figure that a share of the weight has or betters', () => {
    const at = (share: number, better: 'higher' | 'lower'): number =>
      robustFigure({ kind: 'quantile', share }, better, figures);
    expect([at(0.6, 'lower'), at(0.61, 'lower'), at(0.9, 'lower'), at(0.91, 'lower')]).toEqual([10, 20, 20, 30]);
    expect([at(0.1, 'higher'), at(0.4, 'higher'), at(0.5, 'higher')]).toEqual([30, 20, 10]);
  });

  it('is the worst at a quantile of 1, and never better than the mean at the worst', () => {
    const weighted = fc.record({
      value: fc.double({ min: 0.01, max: 1e6, noNaN: true }),
      weight: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(weighted, { minLength: 1, maxLength: 6 }), (all) => {
        const worst = robustFigure({ kind: 'worst' }, 'lower', all);
        expect(robustFigure({ kind: 'quantile', share: 1 }, 'lower', all)).toBe(worst);
        expect(robustFigure({ kind: 'mean' }, 'lower', all)).toBeLessThanOrEqual(worst * (1 + 1e-9));
        expect(all[decidingIndex({ kind: 'worst' }, 'lower', all)]?.value).toBe(worst);
      }),
    );
  });
});

describe('parseRobustRule', () => {
  it('reads the rules', () => {
    expect(['worst', 'mean', 'quantile:0.9', 'quantile:.5', 'quantile:1'].map(parseRobustRule)).toEqual([
      { kind: 'worst' },
      { kind: 'mean' },
      { kind: 'quantile', share: 0.9 },
      { kind: 'quantile', share: 0.5 },
      { kind: 'quantile', share: 1 },
    ]);
  });

  it.each(['best', 'quantile', 'quantile:0', 'quantile:1.2', 'quantile:-0.1', 'quantile:x', ''])(
    'refuses %o',
    (text) => {
      expect(() => parseRobustRule(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
    },
  );
});
