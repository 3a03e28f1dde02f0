import { replicasFor } from '#stats/replicas.ts';
import { type Autoscaler, desiredReplicas, type ScalingValues } from './autoscaler.ts';

/** What one replica does. */
export interface ReplicaFigures {
  /** The highest rate within its limit, in requests per second. */
  readonly capacityPerSecond: number;
  /** The most that it serves, late or not. */
  readonly saturationPerSecond: number;
  /** Longest wait within the limit. */
  readonly budgetSeconds: number;
  /** From the decision to start one until it serves. */
  readonly startSeconds: number;
}

/** How an autoscaler did over a time. */
export interface ScalingOutcome {
  /** Share of the requests that came while the limit did not hold. */
  readonly brokenShare: number;
  /** Replicas times hours, from the start of each. */
  readonly replicaHours: number;
  readonly mostReplicas: number;
}

/**
 * Plays rates, one for each second, against an autoscaler. Replicas share requests evenly; what
 * they cannot serve waits. The limit does not hold in a second whose rate is beyond the capacity of
 * the replicas that serve, or in which requests wait for longer than the budget. It begins with as
 * many replicas as the first rate needs.
 */
export function simulateScaling(
  perSecond: Float64Array,
  { capacityPerSecond, saturationPerSecond, budgetSeconds, startSeconds }: ReplicaFigures,
  autoscaler: Autoscaler,
  values: ScalingValues,
): ScalingOutcome {
  const { syncSeconds, windowSeconds, panic, growth } = autoscaler;
  const first = perSecond[0] as number;
  const reading = { perSecond: first, panicPerSecond: first };
  let ready = desiredReplicas(autoscaler, values, reading, replicasFor(first, values.targetPerSecond));
  const starting: number[] = [];
  /** Requests that were counted before each second, and that waited at its start. */
  const counted = new Float64Array(perSecond.length + 1);
  const waiting = new Float64Array(perSecond.length + 1);
  const lately: Wish[] = [];
  const total = { requests: 0, broken: 0, replicaSeconds: 0, most: ready };
  // Millions of seconds are played: no iterator, and no read beyond an array's end.
  for (let second = 0; second < perSecond.length; second++) {
    const rate = perSecond[second] as number;
    while (starting.length > 0 && (starting[0] as number) <= second) {
      starting.shift();
      ready++;
    }
    const able = ready * saturationPerSecond;
    const due = (waiting[second] as number) + rate;
    const answered = Math.min(able, due);
    waiting[second + 1] = due - answered;
    counted[second + 1] = (counted[second] as number) + (autoscaler.counts === 'arrivals' ? rate : answered);
    total.requests += rate;
    if (rate > ready * capacityPerSecond || due - answered > able * budgetSeconds) total.broken += rate;
    const replicas = ready + starting.length;
    total.replicaSeconds += replicas;
    total.most = Math.max(total.most, replicas);
    if (second % syncSeconds !== 0) continue;
    const seen = second - autoscaler.delaySeconds;
    const meanOver = (seconds: number): number => meanRate(counted, seen, seconds) ?? first;
    const backlog = autoscaler.counts === 'answers' ? (waiting[Math.max(0, seen)] as number) / windowSeconds : 0;
    const rates = {
      perSecond: meanOver(windowSeconds) + backlog,
      panicPerSecond: panic ? meanOver(panic.windowSeconds) : 0,
    };
    const wish = desiredReplicas(autoscaler, values, rates, replicas);
    const kept = mostWished(lately, { second, replicas: wish }, values.scaleDownSeconds);
    const most = Math.max(replicas * growth.factor, replicas + growth.replicas);
    for (let more = Math.min(wish, most) - replicas; more > 0; more--) starting.push(second + startSeconds);
    for (let fewer = replicas - kept; fewer > 0; fewer--) {
      if (starting.pop() === undefined) ready--;
    }
  }
  return {
    brokenShare: total.requests > 0 ? total.broken / total.requests : 0,
    replicaHours: total.replicaSeconds / 3600,
    mostReplicas: total.most,
  };
}

/** Returns the mean rate over the seconds before this one; null before the first. */
function meanRate(counted: Float64Array, second: number, seconds: number): number | null {
  const from = Math.max(0, second - seconds);
  return second > from ? ((counted[second] as number) - (counted[from] as number)) / (second - from) : null;
}

interface Wish {
  readonly second: number;
  readonly replicas: number;
}

/**
 * Adds a wish to the latest ones, and returns the largest of them. Keeps only those that may become
 * the largest: later ones are smaller.
 */
function mostWished(lately: Wish[], wish: Wish, seconds: number): number {
  while (lately.length > 0 && (lately.at(-1) as Wish).replicas <= wish.replicas) lately.pop();
  lately.push(wish);
  while ((lately[0] as Wish).second < wish.second - seconds) lately.shift();
  return (lately[0] as Wish).replicas;
}

/**
 * Returns the replica-hours of somebody who knows the rates in advance and keeps the limit in every
 * second: each replica is started in time, and kept where stopping and starting it would cost more.
 */
export function clairvoyantHours(
  perSecond: Float64Array,
  { capacityPerSecond, startSeconds }: Pick<ReplicaFigures, 'capacityPerSecond' | 'startSeconds'>,
): number {
  /** For each number of replicas, the last second that needed it. */
  const neededUntil: number[] = [];
  let seconds = 0;
  for (const [second, rate] of perSecond.entries()) {
    const needed = replicasFor(rate, capacityPerSecond);
    for (let replica = 0; replica < needed; replica++) {
      const idle = second - (neededUntil[replica] ?? Number.NEGATIVE_INFINITY) - 1;
      // The first second's replicas serve already.
      seconds += 1 + (second === 0 ? 0 : Math.min(idle, startSeconds));
      neededUntil[replica] = second;
    }
  }
  return seconds / 3600;
}
