import { gammaFrom, type Random } from '#base/random.ts';

/**
 * Returns a source of gaps with mean 1 and this coefficient of variation: equal ones for 0,
 * exponential ones for 1 (a Poisson process, by inverse transform sampling), else those of a gamma
 * distribution with shape 1/cv².
 */
function unitGaps(cv: number, random: Random): () => number {
  if (cv === 0) return () => 1;
  if (cv === 1) return () => -Math.log(1 - random.float());
  const shape = 1 / (cv * cv);
  const draw = gammaFrom(shape, random);
  return () => draw() / shape;
}

/**
 * Places exactly `count` arrivals in [0, 1), in rising order, as a renewal process on a circle: the
 * gaps are drawn, stretched so that they fill it, and turned by a random part of it, so that no gap
 * is cut where one pass ends and the next begins. For exponential gaps that is the Poisson process
 * given its number of arrivals, whose arrivals are independent and uniform. Evenly spaced ones
 * begin at 0.
 *
 * The coefficient of variation of n gaps that fill a circle is below √(n − 1): of few arrivals it
 * is less than was asked for.
 */
export function placeOnCircle(count: number, cv: number, random: Random): Float64Array {
  const places = new Float64Array(count);
  if (cv === 0) return places.map((_, index) => index / count);
  const gap = unitGaps(cv, random);
  let sum = 0;
  for (let index = 0; index < count; index++) {
    places[index] = sum;
    sum += gap();
  }
  // Gaps of a very high variation can all be too small for a number.
  if (!(sum > 0)) return places.fill(random.float());
  const turn = random.float();
  for (let index = 0; index < count; index++) places[index] = ((places[index] as number) / sum + turn) % 1;
  return places.sort();
}
