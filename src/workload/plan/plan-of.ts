import { TrituneError } from '#base/errors.ts';
import { gammaFrom, type Random, randomFor, shuffle } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import type { ArrivalPlan } from '../arrival-plan.ts';
import { findDuration, type Mix, type Phase, type Workload } from '../workload.ts';
import { type Events, together } from './events.ts';
import { alongCurve, naturalCount, rateCurve } from './rate-curve.ts';
import { resampled, spread } from './resample.ts';
import { drawTurns, meanTurns, withTurns } from './sessions.ts';

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
function placeOnCircle(count: number, cv: number, random: Random): Float64Array {
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

/**
 * Draws the class of each arrival by the weights at its time. The draws are one of each n-th of [0,
 * 1) in random order (a Latin hypercube of one dimension; McKay, Beckman and Conover, Technometrics
 * 21, 1979): each is as random as an independent one, and the shares of the classes over the phase
 * are those of the weights as nearly as whole requests can be.
 */
function drawClasses(times: Float64Array, duration: number, { from, to }: Mix, random: Random): Uint16Array {
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

export interface PlanOptions {
  readonly seed: number;
  /** Requests per second over the whole workload; as the workload says if not given. */
  readonly meanPerSecond?: number | undefined;
  /**
   * Durations times this, and rates as they are: 0.1 makes an hour six minutes, with a tenth of the
   * requests.
   */
  readonly timeScale?: number | undefined;
  /** A workload that is longer is shortened to this by its time scale. */
  readonly mostSeconds?: number | undefined;
}

/** Requests of one pass, at most: their times take 10 bytes each. */
const MAX_REQUESTS = 50_000_000;

/**
 * Compiles a workload: when each request of one pass is due, and of which class it is. The same
 * workload, options and seed give the same plan. It has the mean rate to the nearest request: by
 * rate, what arrives at a rate is generated at the scaled one, and a trace is thinned or superposed
 * (`resampled` says how); by time, phases, periods and traces become shorter or longer while the
 * rates stay. Each phase gets its part of the requests, to a request. Errors: INPUT_INVALID for a
 * plan without requests or with too many.
 */
export function createPlan(
  workload: Workload,
  { seed, meanPerSecond, timeScale, mostSeconds }: PlanOptions,
): ArrivalPlan {
  const scale = computeTimeScale(findDuration(workload), timeScale, mostSeconds);
  const durationS = findDuration(workload) * scale;
  const durationNs = durationS * NS_PER_S;
  const requests = Math.round((meanPerSecond ?? computeMeanRate(workload)) * durationS);
  checkCount(workload, requests, durationS);
  const { sessions, classes } = workload;
  const random = (what: string) => randomFor(`${what} of a workload with seed ${seed}`);
  const lengths = sessions && drawTurns(sessions, requests, random('sessions'));
  const starts = toStarts(workload, scale, lengths?.length ?? requests, random);
  const all = sessions && lengths ? withTurns(starts, lengths, sessions, durationNs, random('think times')) : starts;
  return {
    arrivalsNs: below(durationNs, all.timesNs),
    classOf: all.classOf,
    classes: classes.map(({ name }) => name),
    durationNs,
  };
}

/** Rounding may have brought the last ones to the end itself. */
function below(endNs: number, timesNs: Float64Array): Float64Array {
  const lastNs = endNs * (1 - Number.EPSILON);
  for (let index = timesNs.length - 1; index >= 0 && (timesNs[index] as number) > lastNs; index--)
    timesNs[index] = lastNs;
  return timesNs;
}

/** Requests per second of the workload as it is written, sessions included. */
export function computeMeanRate(workload: Workload): number {
  const starts = workload.phases.reduce((sum, phase) => sum + naturalCount(phase), 0);
  return (starts * (workload.sessions ? meanTurns(workload.sessions) : 1)) / findDuration(workload);
}

function computeTimeScale(naturalS: number, factor = 1, mostSeconds = Number.POSITIVE_INFINITY): number {
  return Math.min(factor, mostSeconds / naturalS);
}

/**
 * The arrivals of all phases, `count` together; each phase gets its part of them, and what rounding
 * left of those before it.
 */
function toStarts(
  { phases }: Workload,
  scale: number,
  count: number,
  random: (what: string) => ReturnType<typeof randomFor>,
): Events {
  const natural = phases.reduce((sum, phase) => sum + naturalCount(phase), 0);
  let [before, placed, startNs] = [0, 0, 0];
  const parts = phases.map((phase, index): Events => {
    before += naturalCount(phase);
    const ownCount = Math.round((before / natural) * count) - placed;
    placed += ownCount;
    const events = phaseEvents(phase, scale, ownCount, (what) => random(`${what} of phase ${index}`));
    const fromNs = startNs;
    startNs += phase.durationS * scale * NS_PER_S;
    return {
      timesNs: fromNs === 0 ? events.timesNs : events.timesNs.map((ns) => ns + fromNs),
      classOf: events.classOf,
    };
  });
  return together(parts);
}

function phaseEvents(
  { arrivals, durationS, mix }: Phase,
  scale: number,
  count: number,
  random: (what: string) => ReturnType<typeof randomFor>,
): Events {
  const durationNs = durationS * scale * NS_PER_S;
  if (arrivals.process !== 'trace') {
    const places = placeOnCircle(count, arrivals.cv, random('arrivals'));
    const isEven = arrivals.process !== 'ramp' && arrivals.process !== 'diurnal';
    if (!isEven) alongCurve(places, rateCurve(arrivals, durationS, scale), durationS * scale);
    const timesNs = places.map(isEven ? (place) => place * durationNs : (second) => second * NS_PER_S);
    return { timesNs, classOf: drawClasses(timesNs, durationNs, mix, random('classes')) };
  }
  const { resolutionNs, classOf } = arrivals;
  const timesNs = scale === 1 ? arrivals.timesNs : arrivals.timesNs.map((ns) => ns * scale);
  const recorded = { timesNs, classOf: classOf ?? new Uint16Array(timesNs.length) };
  const sharp = spread(recorded, resolutionNs * scale, durationNs, random('steps'));
  const events = resampled(sharp, durationNs, count, random('copies'));
  if (classOf) return events;
  return { ...events, classOf: drawClasses(events.timesNs, durationNs, mix, random('classes')) };
}

function checkCount({ name }: Workload, requests: number, durationS: number): void {
  if (requests === 0) {
    throw invalid(`the workload ${name} has no requests in ${durationS} s`, 'give it a higher rate or a longer time');
  }
  if (requests > MAX_REQUESTS) {
    throw invalid(
      `the workload ${name} has ${requests} requests, more than ${MAX_REQUESTS}`,
      'shorten it with --time-scale, such as --time-scale 0.1',
    );
  }
}

const invalid = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
