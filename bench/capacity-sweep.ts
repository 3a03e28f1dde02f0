import { type Random, shuffle } from '#base/random.ts';

const STEP = 1.03;
const SWEEP = { from: 0.5, to: 1.1 } as const;
const NEAR = 0.1;
const REPEATS = 3;

/** A rate of the sweep, its requests, and the share of them that were late. */
export interface SweepReading {
  readonly rate: number;
  readonly bad: number;
  readonly requests: number;
}

/**
 * Returns the rates of a sweep in requests per second, from half to 1.1 times the saturation in
 * steps of 3 %, as two halves that both reach over the whole grid, each in a random order: a drift
 * of the server is then no trend along the rates.
 */
export function halvesOfSweep(saturation: number, random: Random): readonly number[][] {
  const halves: number[][] = [[], []];
  for (let at = 0, rate = SWEEP.from * saturation; rate <= SWEEP.to * saturation; at++, rate *= STEP)
    halves[at % 2]?.push(rate);
  return halves.map((rates) => shuffle(rates, random));
}

/** Returns the rates within a tenth of the crossing, three times each, in a random order. */
export function closerLook(readings: readonly SweepReading[], random: Random): readonly number[] {
  const middle = crossing(readings);
  const near = new Set(readings.map(({ rate }) => rate).filter((rate) => Math.abs(Math.log(rate / middle)) < NEAR));
  return shuffle(Array.from({ length: REPEATS }, () => [...near]).flat(), random);
}

/**
 * Returns where shares that rise with the rate (pool-adjacent-violators) cross 1 %, interpolated by
 * the logarithm of the share.
 */
export function crossing(readings: readonly SweepReading[]): number {
  const sorted = readings.toSorted((a, b) => a.rate - b.rate);
  const pools = sorted.map(({ rate, bad, requests }) => ({ rates: [rate], sum: bad * requests, requests }));
  for (let at = 0; at + 1 < pools.length; ) {
    const [here, next] = [pools[at], pools[at + 1]] as [(typeof pools)[number], (typeof pools)[number]];
    if (here.sum / here.requests <= next.sum / next.requests) {
      at++;
      continue;
    }
    pools.splice(at, 2, {
      rates: [...here.rates, ...next.rates],
      sum: here.sum + next.sum,
      requests: here.requests + next.requests,
    });
    at = Math.max(0, at - 1);
  }
  const flat = pools.flatMap(({ rates, sum, requests }) => rates.map((rate) => ({ rate, share: sum / requests })));
  const above = flat.findIndex(({ share }) => share > 0.01);
  if (above <= 0) return flat.at(above < 0 ? -1 : 0)?.rate ?? 0;
  const [low, high] = [flat[above - 1], flat[above]] as [(typeof flat)[number], (typeof flat)[number]];
  const log = (share: number): number => Math.log(Math.max(share, 1e-4));
  const part = (log(0.01) - log(low.share)) / (log(high.share) - log(low.share));
  return low.rate * (high.rate / low.rate) ** part;
}
