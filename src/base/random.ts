import { createHash } from 'node:crypto';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** A seeded source of randomness; the same seed gives the same sequence on every machine. */
export interface Random {
  /** Uniform in [0, 1). */
  float(): number;
  /** Uniform integer in [low, high], both included. */
  int(low: number, high: number): number;
}

/**
 * Draws from the normal distribution with mean 0 and standard deviation 1 (Box and Muller); takes
 * two floats.
 */
export function standardNormal(random: Pick<Random, 'float'>): number {
  return Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
}

/**
 * Returns a generator of the gamma distribution with this shape and scale 1 (Marsaglia and Tsang,
 * 2000).
 */
export function gammaFrom(shape: number, random: Random): () => number {
  if (shape < 1) {
    const larger = gammaFrom(shape + 1, random);
    return () => larger() * random.float() ** (1 / shape);
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  return () => {
    for (;;) {
      const x = standardNormal(random);
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(1 - random.float()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
    }
  };
}

export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return {
    float: () => uniformFloat64(generator),
    int: (low, high) => uniformInt(generator, low, high),
  };
}

/**
 * Returns a random generator seeded by a hash of the text. The first draws of neighbouring seeds
 * are alike; those of hashes are not.
 */
export const randomFor = (text: string): Random =>
  seededRandom(createHash('sha256').update(text).digest().readInt32LE(0));

/** Puts items into a random order (Fisher and Yates), in place, and returns them. */
export function shuffle<Items extends unknown[] | Uint32Array>(items: Items, random: Random): Items {
  for (let last = items.length - 1; last > 0; last--) {
    const other = random.int(0, last);
    const kept = items[last];
    items[last] = items[other];
    items[other] = kept;
  }
  return items;
}

/** Draws one of the values. */
export const pick = <T>(values: readonly T[], random: Random): T => values[random.int(0, values.length - 1)] as T;

/** Draws log-uniformly between the two. */
export const between = (low: number, high: number, random: Random): number => low * (high / low) ** random.float();
