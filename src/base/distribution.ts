import { type Random, standardNormal } from './random.ts';

/**
 * A distribution of numbers above 0: token counts, turns, milliseconds. Mean and deviation are
 * those of the numbers themselves, before the limits.
 */
export type Distribution =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
  | {
      readonly kind: 'normal' | 'log-normal';
      readonly mean: number;
      readonly std: number;
      readonly min?: number | undefined;
      readonly max?: number | undefined;
    };

/** The most draws for one number. If all are outside the limits, the nearest limit is used. */
const MAX_DRAWS = 64;

/** Returns a source of whole numbers of the distribution, none below `least`. */
export function wholeNumbers(distribution: Distribution, random: Random, least: number): () => number {
  if (distribution.kind === 'constant') {
    const value = Math.max(least, Math.round(distribution.value));
    return () => value;
  }
  if (distribution.kind === 'uniform') {
    const low = Math.max(least, Math.round(distribution.low));
    const high = Math.max(low, Math.round(distribution.high));
    return () => random.int(low, high);
  }
  const draw = createBell(distribution, random);
  const min = Math.max(least, distribution.min ?? least);
  const max = Math.max(min, distribution.max ?? Number.POSITIVE_INFINITY);
  return () => {
    let value = 0;
    for (let draws = 0; draws < MAX_DRAWS; draws++) {
      value = Math.round(draw());
      if (value >= min && value <= max) return value;
    }
    return Math.min(max, Math.max(min, value));
  };
}

/**
 * The parameters of a log-normal follow from its mean m and deviation s: σ² = ln(1 + s²/m²), μ = ln
 * m − σ²/2.
 */
function createBell(
  { kind, mean, std }: Extract<Distribution, { readonly mean: number }>,
  random: Random,
): () => number {
  if (kind === 'normal') return () => mean + std * standardNormal(random);
  const variance = Math.log(1 + (std / mean) ** 2);
  const center = Math.log(mean) - variance / 2;
  return () => Math.exp(center + Math.sqrt(variance) * standardNormal(random));
}

/** Returns the distribution in the form that options take. */
export function distributionText(distribution: Distribution): string {
  if (distribution.kind === 'constant') return `${distribution.value}`;
  if (distribution.kind === 'uniform') return `${distribution.low}:${distribution.high}`;
  const { kind, mean, std, min, max } = distribution;
  const limits = min === undefined && max === undefined ? [] : [min ?? '', max ?? ''];
  return `${kind}:${[mean, std, ...limits].join(',')}`;
}
