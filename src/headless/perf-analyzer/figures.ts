/** Numbers as C++ streams print them by default, which perf_analyzer's readers expect. */

const SIGNIFICANT = 6;

/**
 * Returns six significant digits without trailing zeros. From a million on, and below 0.0001, uses
 * an exponent of two digits.
 */
export function streamFigure(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : Number.isNaN(value) ? 'nan' : '-inf';
  if (value === 0) return '0';
  const [mantissa, exponentText] = value.toExponential(SIGNIFICANT - 1).split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < SIGNIFICANT) return `${Number(value.toPrecision(SIGNIFICANT))}`;
  const digits = mantissa.replace(/\.?0+$/, '');
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** Returns whole microseconds, rounded down like integer division. */
export const wholeUs = (us: number): string => `${Math.floor(us)}`;
