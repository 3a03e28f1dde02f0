import type { Phase, RateArrivals } from '../workload.ts';

/** A rate over the time of a phase, in requests per second and seconds. */
export interface RateCurve {
  readonly at: (second: number) => number;
  /** Requests until this second on average: the integral of the rate. */
  readonly until: (second: number) => number;
}

/**
 * Returns the rate of the arrivals; `scale` is how much longer than said the phase lasts, with
 * rates as they are.
 */
export function rateCurve(arrivals: RateArrivals, durationS: number, scale = 1): RateCurve {
  if (arrivals.process === 'ramp') {
    const { fromPerSecond, toPerSecond } = arrivals;
    const slope = (toPerSecond - fromPerSecond) / (durationS * scale);
    return {
      at: (second) => fromPerSecond + slope * second,
      until: (second) => fromPerSecond * second + (slope * second * second) / 2,
    };
  }
  const { perSecond } = arrivals;
  if (arrivals.process !== 'diurnal') return { at: () => perSecond, until: (second) => perSecond * second };
  // A cosine between r·low and low has the mean (r + 1)·low / 2, so that it swings by (r − 1) / (r
  // + 1) of the mean.
  const swing = (arrivals.peakRatio - 1) / (arrivals.peakRatio + 1);
  const perRadian = (arrivals.periodS * scale) / (2 * Math.PI);
  const angle = (second: number): number => (second - arrivals.peakAtS * scale) / perRadian;
  const start = Math.sin(angle(0));
  return {
    at: (second) => perSecond * (1 + swing * Math.cos(angle(second))),
    until: (second) => perSecond * (second + swing * perRadian * (Math.sin(angle(second)) - start)),
  };
}

/** Returns the mean number of arrivals of the phase as written. */
export const naturalCount = ({ arrivals, durationS }: Phase): number =>
  arrivals.process === 'trace' ? arrivals.timesNs.length : rateCurve(arrivals, durationS).until(durationS);

const MAX_STEPS = 60;

/**
 * Moves places in [0, 1) of a process of constant rate to the seconds at which as much of the
 * curve's requests have come: the process keeps its gaps on the curve's own clock (Çinlar,
 * Introduction to Stochastic Processes, 1975; Gerhardt and Nelson, INFORMS Journal on Computing 21,
 * 2009). `places` are in rising order, and become seconds. The integral is inverted by Newton's
 * steps, each kept within what is known.
 */
export function alongCurve(places: Float64Array, curve: RateCurve, durationS: number): void {
  const total = curve.until(durationS);
  let second = 0;
  for (let index = 0; index < places.length; index++) {
    const target = (places[index] as number) * total;
    let [low, high] = [second, durationS];
    for (let step = 0; step < MAX_STEPS; step++) {
      const excess = curve.until(second) - target;
      if (Math.abs(excess) <= total * 1e-14) break;
      if (excess > 0) high = second;
      else low = second;
      const next = second - excess / curve.at(second);
      second = next > low && next < high ? next : (low + high) / 2;
    }
    places[index] = second;
  }
}
