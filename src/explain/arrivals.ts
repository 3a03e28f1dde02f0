import { gammaFrom, seededRandom } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import type { Interval } from '#stats/interval.ts';
import { busyInstances, hasServed } from './execution-law.ts';
import type { IntervalWork, ModelWork } from './readings.ts';

/**
 * How requests arrive, whatever their rate. `poisson`: of many independent clients. `bursts`: in
 * groups of geometric size, with exponential gaps within a group. `steady`: with gamma-distributed
 * gaps of this shape, more even than those of independent clients. `groups`: in groups of this size
 * at even times, such as the frames of several cameras. `recorded`: with exactly these gaps, in
 * this order, stretched to the rate.
 */
export type ArrivalProcess =
  | { readonly kind: 'poisson' }
  | { readonly kind: 'bursts'; readonly meanSize: number; readonly gapNs: number }
  | { readonly kind: 'steady'; readonly shape: number }
  | { readonly kind: 'groups'; readonly size: number }
  | { readonly kind: 'recorded'; readonly dispersion: number; readonly gapsNs: Float64Array };

type CountedProcess = Exclude<ArrivalProcess, { readonly kind: 'groups' | 'recorded' }>;

/** Fewer intervals do not tell bursts from chance. */
const MIN_INTERVALS = 8;
/** Fewer requests do not, either. */
export const MIN_REQUESTS = 100;
/** Mean requests of the intervals in which recorded arrivals are counted. */
const RECORDED_PER_INTERVAL = [1, 5] as const;
/** The shape of gaps that are as good as even. */
const MAX_SHAPE = 20;

/**
 * Returns the dispersion of the requests per interval: their variance over their mean, 1 for a
 * Poisson process. The variance is that of differences between neighbours (Allan variance), so that
 * a slow change of the rate is no burst. The 95 % interval takes the relative error of such a
 * variance as √(3/n). null if too little was seen.
 */
function computeDispersion(intervals: readonly Counted[]): Interval | null {
  const rates = intervals.map(({ seconds, requests }) => requests / seconds);
  const requests = intervals.reduce((sum, each) => sum + each.requests, 0);
  if (rates.length < MIN_INTERVALS || requests < MIN_REQUESTS) return null;
  const meanSeconds = intervals.reduce((sum, { seconds }) => sum + seconds, 0) / rates.length;
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const squares = rates.slice(1).reduce((sum, rate, index) => sum + (rate - (rates[index] as number)) ** 2, 0);
  const value = ((squares / 2 / (rates.length - 1)) * meanSeconds) / mean;
  const error = 1.96 * Math.sqrt(3 / (rates.length - 1));
  return { value, low: value * Math.exp(-error), high: value * Math.exp(error) };
}

/** Requests of an interval. */
interface Counted {
  readonly seconds: number;
  readonly requests: number;
}

const toCounted = ({ seconds, breakdown }: IntervalWork): Counted => ({
  seconds,
  requests: breakdown?.successCount ?? 0,
});

/**
 * Returns the dispersion of recorded arrivals, in the intervals where it is larger: groups as far
 * apart as intervals are long look even.
 */
function computeRecordedDispersion(arrivalsNs: Float64Array): Interval | null {
  const [short, long] = RECORDED_PER_INTERVAL.map((mean) => computeDispersion(countRecorded(arrivalsNs, mean)));
  return long && short && long.value > short.value ? long : (short ?? null);
}

/** Counts recorded arrivals in intervals of equal length, `perInterval` in each on average. */
function countRecorded(arrivalsNs: Float64Array, perInterval: number): readonly Counted[] {
  const firstNs = arrivalsNs[0] ?? 0;
  const spanNs = (arrivalsNs.at(-1) ?? 0) - firstNs;
  const count = Math.floor(arrivalsNs.length / perInterval);
  const requests = new Uint32Array(count);
  for (const atNs of arrivalsNs) {
    const index = Math.min(count - 1, Math.floor(((atNs - firstNs) * count) / spanNs));
    requests[index] = (requests[index] ?? 0) + 1;
  }
  return Array.from(requests, (each) => ({ seconds: spanNs / count / NS_PER_S, requests: each }));
}

/** Dispersions that are bursts, or steadiness, beyond chance. */
const MIN_BURSTY = 1.2;
const MAX_STEADY = 0.8;

/** The share of busy instances from which on requests leave as evenly as executions end. */
const FULL = 0.9;
/** The share of a request's time in the queue without which no server is full. */
const MIN_QUEUE_SHARE = 0.1;

/**
 * Returns the dispersion of the arrivals that were recorded, or else by that of the requests that
 * were answered; null where a full server hides it. Busy instances without a queue are no full
 * server: its clients wait.
 */
export function findDispersion(served: ModelWork, instances: number): Interval | null {
  if (served.arrivalsNs) return computeRecordedDispersion(served.arrivalsNs);
  const dispersion = computeDispersion(served.intervals.map(toCounted));
  const isFull =
    hasServed(served) &&
    busyInstances(served) > FULL * instances &&
    served.breakdown.queueUs > MIN_QUEUE_SHARE * served.breakdown.requestUs;
  return isFull && dispersion && dispersion.value < 1 ? null : dispersion;
}

/**
 * Returns the process with this dispersion. Requests in groups of geometric size with mean b have
 * the dispersion 2b − 1; gaps of a gamma distribution with shape k have 1/k. `gapNs`: the mean gap
 * within a group, which the counts do not tell.
 */
export function toProcess(dispersion: Interval | null, gapNs: number): CountedProcess {
  if (dispersion && dispersion.low > MIN_BURSTY) {
    return { kind: 'bursts', meanSize: (dispersion.value + 1) / 2, gapNs };
  }
  if (dispersion && dispersion.high < MAX_STEADY) {
    return { kind: 'steady', shape: Math.min(MAX_SHAPE, 1 / dispersion.value) };
  }
  return { kind: 'poisson' };
}

/** Returns the process that repeats recorded arrivals. `arrivalsNs`: rising, two at least. */
export function toRecorded(arrivalsNs: Float64Array, dispersion: Interval | null): ArrivalProcess {
  const gapsNs = arrivalsNs.subarray(1).map((atNs, index) => atNs - (arrivalsNs[index] as number));
  return { kind: 'recorded', dispersion: dispersion?.value ?? 1, gapsNs };
}

/** Returns the times of arrivals in nanoseconds, rising. The same seed gives the same ones. */
export function drawArrivals(process: ArrivalProcess, perSecond: number, count: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const exponential = (meanNs: number): number => -meanNs * Math.log(1 - random.float());
  const meanNs = NS_PER_S / perSecond;
  const times = new Float64Array(count);
  if (process.kind === 'recorded') {
    const { gapsNs } = process;
    const first = random.int(0, gapsNs.length - 1);
    for (let index = 0, atNs = 0; index < count; index++) {
      atNs += gapsNs[(first + index) % gapsNs.length] as number;
      times[index] = atNs;
    }
    // This part of the record may have been slower or faster than all of it.
    const scale = (meanNs * count) / Math.max(1, times[count - 1] ?? 1);
    return times.map((atNs) => scale * atNs);
  }
  if (process.kind === 'groups') {
    const { size } = process;
    return times.map((_, index) => (1 + Math.floor(index / size)) * size * meanNs);
  }
  if (process.kind !== 'bursts') {
    const shape = process.kind === 'steady' ? process.shape : 1;
    const draw = gammaFrom(shape, random);
    for (let index = 0, atNs = 0; index < count; index++) {
      atNs += (draw() * meanNs) / shape;
      times[index] = atNs;
    }
    return times;
  }
  const { meanSize, gapNs } = process;
  for (let index = 0, startNs = 0; index < count; ) {
    startNs += exponential(meanNs * meanSize);
    let atNs = startNs;
    do {
      times[index++] = atNs;
      atNs += exponential(gapNs);
    } while (index < count && random.float() >= 1 / meanSize);
  }
  return times.sort();
}
