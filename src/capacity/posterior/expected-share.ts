import type { BacklogsMet } from './backlog.ts';
import { STEADY_STEP, type SteadyShape, type WeightedShape } from './shapes.ts';

/** Limits of the expected share of bad requests: no shape is right far from the capacity. */
const MIN_BAD = 1e-7;
const MAX_BAD = 0.9;
/** The weight of the neighbouring saturations in the expected share, because no fluid is exact. */
const NEIGHBOURS = 0.2;

/** An expected share of bad requests, and how steeply its logarithm rises with that of the rate. */
interface ExpectedShare {
  readonly expected: number;
  readonly steepness: number;
}

/** What is known of the server in a reading. */
interface ServerThen {
  /**
   * The backlogs of a steady server, by the index of the saturation's error; empty if the arrivals
   * are unknown.
   */
  readonly backlogs: readonly BacklogsMet[];
  /** The logarithm of its speed relative to the usual one. */
  readonly logSpeed: number;
}

/**
 * Returns the share that a shape expects at a rate that is `share` of the capacity, within the
 * limits of what a shape can tell.
 */
export function expectedShare(
  shape: Pick<WeightedShape, 'gap' | 'floor' | 'slope' | 'steady'>,
  allowed: number,
  share: number,
  { backlogs, logSpeed }: ServerThen,
): ExpectedShare {
  const { slope, steady } = shape;
  const byLaw = slope === null ? queueShare(shape, allowed, share, logSpeed) : logisticShare(allowed, slope, share);
  const { expected, steepness } = steady === null ? byLaw : decidedBy(backlogs, steady, byLaw, logSpeed);
  return { expected: Math.min(Math.max(expected, MIN_BAD), MAX_BAD), steepness };
}

/** Returns the share that the law of a queue expects at a rate that is `share` of the capacity. */
function queueShare(
  { gap, floor }: Pick<WeightedShape, 'gap' | 'floor'>,
  allowed: number,
  share: number,
  logSpeed: number,
): ExpectedShare {
  const left = 1 + gap - share;
  const ratio = left > 0 ? (floor + ((1 - floor) * gap) / left) * Math.exp(-logSpeed) : Number.POSITIVE_INFINITY;
  const tail = Math.log(allowed) / ratio;
  const steepness = left > 0 ? (-tail * (1 - floor) * gap * share * Math.exp(-logSpeed)) / (left * left * ratio) : 0;
  return { expected: Math.exp(tail), steepness };
}

/** Returns the share on a logistic curve at a rate that is `share` of the capacity. */
function logisticShare(allowed: number, slope: number, share: number): ExpectedShare {
  const odds = Math.exp(Math.log(allowed / (1 - allowed)) + slope * Math.log(share));
  return { expected: 1 / (1 + 1 / odds), steepness: slope / (1 + odds) };
}

/**
 * Returns the share on a steady server, where the arrivals decide it as far as the server's
 * steadiness says.
 */
function decidedBy(
  backlogs: readonly BacklogsMet[],
  { index, budgetBacklog, weight }: SteadyShape,
  byLaw: ExpectedShare,
  logSpeed: number,
): ExpectedShare {
  const here = backlogs[index] as BacklogsMet;
  const beyond = budgetBacklog * Math.exp(logSpeed);
  const slower = (backlogs[index - 1] ?? here).shareAbove(beyond);
  const faster = (backlogs[index + 1] ?? here).shareAbove(beyond);
  const met = (1 - NEIGHBOURS) * here.shareAbove(beyond) + (NEIGHBOURS * (slower + faster)) / 2;
  const expected = weight * met + (1 - weight) * byLaw.expected;
  const rise = (weight * (slower - faster)) / (2 * STEADY_STEP) + (1 - weight) * byLaw.expected * byLaw.steepness;
  return { expected, steepness: rise / Math.max(expected, MIN_BAD) };
}
