import { describe, expect, it } from 'vitest';
import { randomFor, standardNormal } from '#base/random.ts';
import { leastSquares, type ResidualBlock } from '#stats/least-squares.ts';

const alone = (parameter: number) => [{ parameter, weight: 1 }];
const options = { step: 1e-3, mostChange: 2, iterations: 20 };
const WIDE = { mean: 0, sd: 100 };

describe('least squares with priors', () => {
  it('finds the line through points, with the covariance of linear regression', () => {
    const xs = [0, 1, 2, 3, 4];
    const sd = 0.5;
    const blocks = xs.map(
      (x): ResidualBlock => ({
        sums: [alone(0), alone(1)],
        residuals: ([height = 0, slope = 0]) => [(height + slope * x - (2 + 3 * x)) / sd],
      }),
    );
    const { parameters, covariance, misfit } = leastSquares(blocks, { ...options, priors: [WIDE, WIDE] });
    expect(parameters[0]).toBeCloseTo(2, 3);
    expect(parameters[1]).toBeCloseTo(3, 3);
    // (XᵀX)⁻¹ σ² with Σx = 10, Σx² = 30, n = 5.
    expect(covariance[0]?.[0]).toBeCloseTo((30 / 50) * sd ** 2, 3);
    expect(covariance[1]?.[1]).toBeCloseTo((5 / 50) * sd ** 2, 3);
    expect(covariance[0]?.[1]).toBeCloseTo((-10 / 50) * sd ** 2, 3);
    expect(misfit).toBeLessThan(1e-6);
  });

  it('keeps to the prior what the residuals do not tell, and shares a weighted sum between its parts', () => {
    const blocks: ResidualBlock[] = [
      {
        sums: [
          [
            { parameter: 0, weight: 1 },
            { parameter: 1, weight: 2 },
          ],
          [],
        ],
        residuals: ([sum = 0, nothing]) => [(sum - 5) / 1e-3, Number(nothing)],
      },
    ];
    const priors = [
      { mean: 0, sd: 1 },
      { mean: 0, sd: 1 },
      { mean: 7, sd: 3 },
    ];
    const { parameters, covariance } = leastSquares(blocks, { ...options, priors });
    expect(parameters.map((value) => Number(value.toFixed(3)))).toEqual([1, 2, 7]);
    expect(covariance[2]?.[2]).toBeCloseTo(9, 6);
  });

  it('finds what is not linear, and is hardly moved by one reading that nothing explains', () => {
    const random = randomFor('least squares');
    const truth = { scale: 3, rate: 0.7 };
    const blocks = Array.from({ length: 20 }, (_, index): ResidualBlock => {
      const x = index / 5;
      const value = Math.log(truth.scale) - truth.rate * x + 0.02 * standardNormal(random) + (index === 4 ? 3 : 0);
      return {
        sums: [alone(0), alone(1)],
        residuals: ([scale = 0, rate = 0]) => [(scale - Math.exp(rate) * x - value) / 0.02],
      };
    });
    const { parameters } = leastSquares(blocks, { ...options, priors: [WIDE, { mean: 0, sd: 2 }] });
    expect(Math.abs(Math.exp(Number(parameters[0])) / truth.scale - 1)).toBeLessThan(0.05);
    expect(Math.abs(Math.exp(Number(parameters[1])) / truth.rate - 1)).toBeLessThan(0.05);
  });
});
