import { TrituneError } from '#base/errors.ts';
import { seededRandom } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { Part } from './paced-part.ts';

/**
 * Returns when the next request is due: `elapsedNs` since the start, after `sent` requests.
 * `waitNs` is below zero for an overdue request, so that `elapsedNs + waitNs` is always its
 * scheduled time. A pacer has no clock: the time of a call does not change the schedule. `sent`
 * never falls from one call to the next.
 */
export type Pacer = (elapsedNs: number, sent: number) => { readonly waitNs: number } | 'stop';

/**
 * A description of a pacer that can be sent between threads. Times and rates are those of the
 * functions with the same names.
 */
export type Schedule = (
  | { readonly kind: 'constant'; readonly perSecond: number }
  | { readonly kind: 'poisson'; readonly perSecond: number; readonly seed: number }
  | { readonly kind: 'intervals'; readonly gapsNs: readonly number[] }
  | { readonly kind: 'replay'; readonly arrivalsNs: readonly number[]; readonly speed: number }
  | ({ readonly kind: 'ramp' } & Ramp)
  | { readonly kind: 'bursts'; readonly size: number; readonly periodNs: number }
  | { readonly kind: 'arrivals'; readonly plan: ArrivalPlan }
) & { readonly limit?: PacerLimit };

/** Returns the pacer of the schedule. Errors: INPUT_INVALID, as the pacer's own. */
export function createPacer(schedule: Schedule): Pacer {
  const pacer = unlimitedPacer(schedule);
  return schedule.limit ? limited(pacer, schedule.limit) : pacer;
}

function unlimitedPacer(schedule: Schedule): Pacer {
  switch (schedule.kind) {
    case 'constant':
      return constantRate(schedule.perSecond);
    case 'poisson':
      return poissonArrivals(schedule.perSecond, schedule.seed);
    case 'intervals':
      return intervalList(schedule.gapsNs);
    case 'replay':
      return replay(schedule.arrivalsNs, schedule.speed);
    case 'ramp':
      return ramp(schedule);
    case 'bursts':
      return bursts(schedule.size, schedule.periodNs);
    case 'arrivals':
      return createPassPacer(schedule.plan);
  }
}

/**
 * Returns every `of`-th request of the pacer, from number `index` on: the parts together send what
 * the whole would, at the same times.
 */
export function dealt(pacer: Pacer, { index, of }: Part): Pacer {
  return (elapsedNs, sent) => pacer(elapsedNs, sent * of + index);
}

/** Returns a pacer for a request every 1/rate seconds, the first at once; rate above 0. */
export function constantRate(perSecond: number): Pacer {
  return following((index) => (index / perSecond) * NS_PER_S);
}

/**
 * Independent arrivals at a mean rate: a Poisson process, whose gaps are exponential (inverse
 * transform sampling).
 */
export function poissonArrivals(meanPerSecond: number, seed: number): Pacer {
  const random = seededRandom(seed);
  const nextGap = (): number => (-Math.log(1 - random.float()) / meanPerSecond) * NS_PER_S;
  let drawn = 0;
  let dueNs = nextGap();
  return following((index) => {
    for (; drawn < index; drawn++) dueNs += nextGap();
    return dueNs;
  });
}

/**
 * Returns a pacer with the gaps of a list, one before each request, repeatedly. Errors:
 * INPUT_INVALID for a list whose gaps are all zero.
 */
export function intervalList(gapsNs: readonly number[]): Pacer {
  checkNumbers(gapsNs, 'the list of intervals');
  const endsNs: number[] = [];
  let roundNs = 0;
  for (const gapNs of gapsNs) {
    roundNs += gapNs;
    endsNs.push(roundNs);
  }
  if (roundNs === 0) throw invalid('all intervals are 0', 'give at least one interval above 0');
  return following((index) => {
    const round = Math.floor(index / endsNs.length);
    return round * roundNs + (endsNs[index % endsNs.length] as number);
  });
}

/**
 * Returns a pacer that replays recorded arrival times once, from the first on, `speed` times as
 * fast. Errors: INPUT_INVALID for invalid or decreasing times.
 */
export function replay(arrivalsNs: readonly number[], speed: number): Pacer {
  checkNumbers(arrivalsNs, 'the trace of arrivals');
  checkOrder(arrivalsNs, 'the trace');
  const firstNs = arrivalsNs[0] as number;
  return following((index) => {
    const arrivalNs = arrivalsNs[index];
    return arrivalNs === undefined ? 'stop' : (arrivalNs - firstNs) / speed;
  });
}

export interface Ramp {
  readonly fromPerSecond: number;
  readonly toPerSecond: number;
  readonly overNs: number;
}

/**
 * Returns a pacer whose rate changes linearly from one value to the other and then stays; it stops
 * at the end of a ramp down to 0.
 */
export function ramp({ fromPerSecond, toPerSecond, overNs }: Ramp): Pacer {
  const overS = overNs / NS_PER_S;
  const inRamp = ((fromPerSecond + toPerSecond) / 2) * overS;
  const slope = (toPerSecond - fromPerSecond) / overS;
  return following((index) => {
    if (index === 0) return 0;
    // The number of requests until t is from·t + slope·t²/2; this solves for t in a form that
    // tolerates a slope and a start of 0.
    if (index < inRamp) {
      const root = Math.sqrt(fromPerSecond * fromPerSecond + 2 * slope * index);
      return ((2 * index) / (fromPerSecond + root)) * NS_PER_S;
    }
    return toPerSecond > 0 ? overNs + ((index - inRamp) / toPerSecond) * NS_PER_S : 'stop';
  });
}

/** Returns a pacer of bursts: this number of requests at once, repeated after each period. */
export function bursts(size: number, periodNs: number): Pacer {
  return following((index) => Math.floor(index / size) * periodNs);
}

/**
 * Returns a pacer of a plan's arrivals, pass after pass. Errors: INPUT_INVALID for times that are
 * invalid, decreasing, or beyond the pass.
 */
export function createPassPacer({ arrivalsNs, durationNs }: ArrivalPlan): Pacer {
  checkNumbers(arrivalsNs, 'the plan of arrivals');
  checkOrder(arrivalsNs, 'the plan');
  const perPass = arrivalsNs.length;
  if (!(durationNs > 0) || !Number.isFinite(durationNs) || (arrivalsNs[perPass - 1] as number) > durationNs) {
    throw invalid(`the plan of arrivals does not end within its ${durationNs} ns`, 'give the length of a whole pass');
  }
  return following((index) => Math.floor(index / perPass) * durationNs + (arrivalsNs[index % perPass] as number));
}

export interface PacerLimit {
  readonly requests?: number;
  readonly durationNs?: number;
}

/** Limits the pacer's schedule to a number of requests or a duration, whichever ends first. */
export function limited(pacer: Pacer, limit: PacerLimit): Pacer {
  const { requests = Number.POSITIVE_INFINITY, durationNs = Number.POSITIVE_INFINITY } = limit;
  return (elapsedNs, sent) => {
    if (sent >= requests) return 'stop';
    const next = pacer(elapsedNs, sent);
    return next === 'stop' || elapsedNs + next.waitNs >= durationNs ? 'stop' : next;
  };
}

function following(dueNs: (index: number) => number | 'stop'): Pacer {
  return (elapsedNs, sent) => {
    const due = dueNs(sent);
    return due === 'stop' ? 'stop' : { waitNs: due - elapsedNs };
  };
}

function checkOrder(arrivalsNs: ArrayLike<number>, what: string): void {
  for (let index = 1; index < arrivalsNs.length; index++) {
    if ((arrivalsNs[index] as number) >= (arrivalsNs[index - 1] as number)) continue;
    throw invalid(`arrival ${index + 1} of ${what} is before the one it follows`, `sort ${what}`);
  }
}

function checkNumbers(times: readonly number[] | Float64Array, what: string): void {
  if (times.length === 0) throw invalid(`${what} is empty`, 'give at least one time');
  const wrong = times.findIndex((time) => !Number.isFinite(time) || time < 0);
  if (wrong >= 0) throw invalid(`${what} has a wrong time at ${wrong + 1}: ${times[wrong]}`, 'give times of 0 or more');
}

const invalid = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
