import { MS_PER_S } from '#base/units.ts';
import type { CountedTimeMs } from '#profiler/measurement.ts';

/** The arrivals of a played schedule. */
export interface PlayedArrivals {
  /** When each request was due since the schedule's start, rising. */
  readonly dueMs: Float64Array;
  /** The times in which replies were counted. */
  readonly countedMs: readonly CountedTimeMs[];
}

/** The backlogs that the counted requests met. */
export interface BacklogsMet {
  /** Returns the share of them that met more than this number of requests, themselves included. */
  shareAbove(requests: number): number;
}

/** A longer backlog counts as this one: it is over any budget. */
const LONGEST = 8192;

/**
 * Plays the arrivals to a server that works off its backlog at a steady rate, as a fluid
 * (Kleinrock, Queueing Systems II, 1976, chapter 2). `perSecond`: the rate. `idleMs`: the latency
 * of a request that meets no backlog. A request counts if its reply falls into a counted time.
 */
export function playBacklog(
  { dueMs, countedMs }: PlayedArrivals,
  { perSecond, idleMs }: { readonly perSecond: number; readonly idleMs: number },
): BacklogsMet {
  const perMs = perSecond / MS_PER_S;
  const counts = new Uint32Array(LONGEST + 2);
  let [backlog, lastMs, at, all] = [0, 0, 0, 0];
  for (const ms of dueMs) {
    backlog = Math.max(0, backlog - (ms - lastMs) * perMs);
    lastMs = ms;
    const repliedMs = ms + backlog / perMs + idleMs;
    backlog++;
    while (at < countedMs.length && repliedMs > (countedMs[at] as CountedTimeMs).to) at++;
    const counted = countedMs[at];
    if (counted === undefined) break;
    if (repliedMs <= counted.from) continue;
    const whole = Math.min(LONGEST, Math.floor(backlog));
    counts[whole] = (counts[whole] as number) + 1;
    all++;
  }
  const above = Float64Array.from(counts);
  for (let length = LONGEST; length >= 0; length--) {
    above[length] = (above[length] as number) + (above[length + 1] as number);
  }
  return {
    shareAbove(requests) {
      if (all === 0) return 0;
      const whole = Math.min(LONGEST, Math.max(0, Math.floor(requests)));
      const part = Math.min(1, Math.max(0, requests - whole));
      return ((1 - part) * (above[whole] as number) + part * (above[whole + 1] as number)) / all;
    },
  };
}

const NEWTON_STEPS = 10;

/**
 * Returns the backlog, in requests, that this share of Poisson arrivals exceeds on a steady server
 * with the utilization ρ, themselves included. The waiting time W of an M/D/1 queue, in services,
 * has P(W > t) → (1 − ρ) / (ρ e^θ − 1) · e^(−θt), where ρ (e^θ − 1) = θ (Cramér and Lundberg;
 * Asmussen, Applied Probability and Queues, 2003, chapter XIII).
 */
export function backlogExceededBy(share: number, utilization: number): number {
  let theta = decayAtMost(utilization);
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const grown = utilization * Math.exp(theta);
    theta -= (grown - utilization - theta) / (grown - 1);
  }
  const factor = (1 - utilization) / (utilization * Math.exp(theta) - 1);
  return 1 + Math.max(0, Math.log(factor / share) / theta);
}

/**
 * Returns an upper bound of θ, from which Newton's steps fall to it, because the function is
 * convex: the lower of those by e^θ − 1 ≥ θ + θ²/2, close near saturation, and by θ ≤ (2/e)
 * e^(θ/2), close at low utilizations.
 */
function decayAtMost(utilization: number): number {
  const scale = 1 / (Math.E * utilization);
  return Math.min(2 * (1 / utilization - 1), 2 * Math.log(scale + Math.hypot(scale, 1)));
}
