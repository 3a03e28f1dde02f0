import { type Random, shuffle } from '#base/random.ts';
import type { Mix } from '../workload.ts';

/**
 * Draws the class of each arrival by the weights at its time. The draws are one of each n-th of [0,
 * 1) in random order (a Latin hypercube of one dimension; McKay, Beckman and Conover, Technometrics
 * 21, 1979): each is as random as an independent one, and the shares of the classes over the phase
 * are those of the weights as nearly as whole requests can be.
 */
export function drawClasses(times: Float64Array, duration: number, { from, to }: Mix, random: Random): Uint16Array {
  const classOf = new Uint16Array(times.length);
  const only = from.findIndex((weight, index) => weight > 0 || (to[index] as number) > 0);
  const others = from.some((weight, index) => index !== only && (weight > 0 || (to[index] as number) > 0));
  if (!others) return classOf.fill(only);
  const [fromShares, toShares] = [listShares(from), listShares(to)];
  const order = shuffle(
    Uint32Array.from(times, (_, index) => index),
    random,
  );
  for (let index = 0; index < times.length; index++) {
    const drawn = ((order[index] as number) + random.float()) / times.length;
    const passed = (times[index] as number) / duration;
    let [each, sum] = [-1, 0];
    do {
      each++;
      sum += (fromShares[each] as number) * (1 - passed) + (toShares[each] as number) * passed;
    } while (sum <= drawn && each < from.length - 1);
    classOf[index] = each;
  }
  return classOf;
}

function listShares(weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}
