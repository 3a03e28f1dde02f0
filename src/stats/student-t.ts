import { bisect, gammaln } from 'simple-statistics';

/**
 * Returns the quantile of Student's t with `degrees` (> 0, need not be whole) of freedom, 0.5 ≤ p <
 * 1. Inverts the distribution function by bisection; relative error below 1e-9. Throws RangeError
 * outside these ranges.
 */
export function studentTQuantile(p: number, degrees: number): number {
  if (!(p >= 0.5 && p < 1) || !(degrees > 0)) throw new RangeError(`no t quantile for p=${p}, degrees=${degrees}`);
  if (p === 0.5) return 0;
  // With x = d/(d+t²) the tail above t is I_x(d/2, 1/2)/2, which falls as t grows.
  const tailAt = (x: number): number => incompleteBeta(x, degrees / 2, 0.5) / 2;
  const logX = bisect((log) => tailAt(Math.exp(log)) - (1 - p), -700, 0, 200, 1e-14);
  return Math.sqrt(degrees * Math.expm1(-logX));
}

/**
 * Returns the distribution function of Student's t with `degrees` (> 0) of freedom at `t` (≥ 0).
 * Throws RangeError outside these ranges.
 */
export function studentTProbability(t: number, degrees: number): number {
  if (!(t >= 0) || !(degrees > 0)) throw new RangeError(`no t probability for t=${t}, degrees=${degrees}`);
  return 1 - incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
}

/**
 * Returns the regularised incomplete beta function I_x(a, b) by its continued fraction (NIST DLMF
 * 8.17.22) and Lentz's method.
 */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast only on this side of the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const logFront = gammaln(a + b) - gammaln(a) - gammaln(b) + a * Math.log(x) + b * Math.log1p(-x);
  return (Math.exp(logFront) / a) * betaFraction(x, a, b);
}

function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const away = (value: number): number => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}
