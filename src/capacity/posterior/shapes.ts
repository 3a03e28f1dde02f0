import { chanceBelow } from '#stats/normal.ts';
import { backlogExceededBy } from './backlog.ts';
import type { CapacityPrior } from './prior.ts';

/**
 * The candidate shapes of latency over rate: L(λ) = F + (B − F) · g / (1 + g − λ/c). This is the
 * law of a queue with the capacity c, at which the percentile L equals the budget B, the saturation
 * rate c(1 + g) and the percentile F of an idle server. With an exponential tail, a share a^(B/L)
 * of the requests is then over the budget, where a is the share of requests above the percentile.
 */
const GAPS = [0.005, 0.013, 0.033, 0.08, 0.2, 0.5, 1.3, 3.5] as const;
const FLOORS = [0.1, 0.5, 0.9] as const;
const ALL_SHAPES = Math.log(GAPS.length * FLOORS.length);
/**
 * Batches raise an idle server's latency before it queues. The log prior falls by this much for
 * each budget that F lies above it.
 */
const FLOOR_PRIOR = 6;
/** By about this share, the saturation may be above the highest throughput that was seen. */
const SATURATION_SD = 0.12;
/**
 * A workload mixes phases and classes, each with a capacity of its own: the share of bad requests
 * then follows no queue's law. Its candidates are logistic curves over the logarithm of the rate,
 * as for psychometric functions: logit p = logit a + k ln(λ/c). The example workload `evening` has
 * k = 3; simulated ones had 2 to 50.
 */
const SLOPES = [1.5, 3, 6, 12, 25, 50] as const;
/**
 * If closed loops reached the saturation S, the law with F = 0 is a^((S − λ)/(S − c)). Simulated
 * queues with one to eight servers, single requests and batches had shares of 0.2 to 18 % within
 * about a factor of 1.3 of it; those with a service cv above 1 are farther off. The constants are
 * the error of the seen S, as a logarithm, and the chance that a server follows another law.
 */
const SEEN_SD = 0.012;
const SATURATION_ERRORS = [-0.03, -0.018, -0.009, 0, 0.009, 0.018, 0.03] as const;
const UNUSUAL = 0.05;
/**
 * The same for servers that work off their backlog steadily, at finer steps, because the readings
 * tell more about them. Most models take about the same time for each batch, so that the arrivals
 * decide which requests are late. The last constant is the prior chance.
 */
export const STEADY_STEP = 0.004;
export const STEADY_ERRORS: readonly number[] = Array.from({ length: 21 }, (_, at) => (at - 10) * STEADY_STEP);
const STEADY = 0.6;

/** How far the arrivals decide which requests are late. */
export interface Steadiness {
  /** The weight of the arrivals in the expected share of bad requests; the law has the rest. */
  readonly weight: number;
  /** The variance that they leave, relative to that of a server whose arrivals are unknown. */
  readonly cluster: number;
}

/**
 * The arrivals leave a part of the variance: 0.001 (one request at a time) to 0.1 (batches of 16),
 * and 0.6 if services scatter by half of their mean (simulated queues, 300 readings each).
 */
const STEADINESS: readonly Steadiness[] = [
  { weight: 0.99, cluster: 0.02 },
  { weight: 0.95, cluster: 0.1 },
  { weight: 0.6, cluster: 0.5 },
];

/**
 * Returns the log chance that a figure known to `sd` is above `log`, with a floor so that readings
 * can outweigh it.
 */
const logChanceAbove = (log: number, mean: number, sd: number): number =>
  Math.log(1e-9 + chanceBelow((mean - log) / sd));

/** A server that works off its backlog steadily. */
export interface SteadyShape extends Steadiness {
  /** The index of the saturation's error in `STEADY_ERRORS`. */
  readonly index: number;
  /** The backlog, in requests, at which the server is at the budget. */
  readonly budgetBacklog: number;
}

/** A shape with its prior. */
export interface WeightedShape {
  readonly gap: number;
  readonly floor: number;
  readonly logPrior: number;
  /**
   * The k of a logistic curve; null for a queue. Its gap is that of a queue which is as steep at
   * the capacity.
   */
  readonly slope: number | null;
  /** Set for a server that works off its backlog steadily; null for others. */
  readonly steady: SteadyShape | null;
}

/**
 * Returns the possible shapes at a capacity: all of them, or those that agree with the saturation,
 * if it was seen; for a workload its curves. `knowsArrivals`: without the arrivals of each reading,
 * no server is known to be steady.
 */
export function shapesAt(
  log: number,
  { mostServed, idle, allowed, isWorkload }: CapacityPrior,
  knowsArrivals: boolean,
): readonly WeightedShape[] {
  if (isWorkload) return listCurves(allowed);
  const any = GAPS.flatMap((gap) => {
    const saturation = log + Math.log(1 + gap);
    const atMost = mostServed === null ? 0 : logChanceAbove(saturation, Math.log(mostServed), SATURATION_SD);
    const unlikely = mostServed === null ? 0 : Math.log(UNUSUAL);
    return FLOORS.map((floor): WeightedShape => {
      const above = idle === null ? 0 : Math.max(0, floor - Math.max(idle, FLOORS[0]));
      const logPrior = unlikely + atMost - FLOOR_PRIOR * above - ALL_SHAPES;
      return { gap, floor, logPrior, slope: null, steady: null };
    });
  });
  if (mostServed === null) return any;
  const logOther = knowsArrivals ? Math.log(1 - STEADY) : 0;
  const others = gapsAt(log, mostServed, otherErrors).map(
    ({ gap, logPrior }): WeightedShape => ({ gap, floor: 0, logPrior: logPrior + logOther, slope: null, steady: null }),
  );
  if (!knowsArrivals) return [...any, ...others];
  const logEach = Math.log(STEADY / STEADINESS.length);
  const steady = gapsAt(log, mostServed, steadyErrors).flatMap(
    ({ gap, index, logPrior: logError }): WeightedShape[] => {
      const budgetBacklog = backlogExceededBy(allowed, 1 / (1 + gap));
      const logPrior = logError + logEach;
      return STEADINESS.map((each) => ({
        gap,
        floor: 0,
        logPrior,
        slope: null,
        steady: { ...each, index, budgetBacklog },
      }));
    },
  );
  return [...any, ...others, ...steady];
}

/** Returns the candidate curves of a workload. */
const listCurves = (allowed: number): readonly WeightedShape[] =>
  SLOPES.map((slope) => ({
    gap: -Math.log(allowed) / (slope * (1 - allowed)),
    floor: 0,
    slope,
    steady: null,
    logPrior: -Math.log(SLOPES.length),
  }));

/** An error of the seen saturation, as a logarithm. */
interface SaturationError {
  readonly error: number;
  readonly logPrior: number;
}

function withPriors(errors: readonly number[]): readonly SaturationError[] {
  const logPriors = errors.map((error) => -((error / SEEN_SD) ** 2) / 2);
  const logAll = Math.log(logPriors.reduce((sum, logPrior) => sum + Math.exp(logPrior), 0));
  return errors.map((error, index) => ({ error, logPrior: (logPriors[index] as number) - logAll }));
}

const otherErrors = withPriors(SATURATION_ERRORS);
const steadyErrors = withPriors(STEADY_ERRORS);

/** Returns the errors that leave a gap between the capacity and the saturation, with that gap. */
function gapsAt(log: number, mostServed: number, errors: readonly SaturationError[]) {
  return errors.flatMap(({ error, logPrior }, index) => {
    const gap = Math.exp(Math.log(mostServed) + error - log) - 1;
    return gap < GAPS[0] ? [] : [{ index, gap, logPrior }];
  });
}
