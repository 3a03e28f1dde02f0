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

export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return {
    float: () => uniformFloat64(generator),
    int: (low, high) => uniformInt(generator, low, high),
  };
}
