import { replicasFor } from '#stats/replicas.ts';
import type { Autoscaler, ScalingValues } from './autoscaler.ts';
import type { ScalingDocument } from './document.ts';
import { clairvoyantHours, type ReplicaFigures, type ScalingOutcome, simulateScaling } from './simulate-scaling.ts';
import { drawSeconds, type TrafficCurve } from './traffic-curve.ts';

/** An autoscaler's values, and what they give under each traffic. */
export interface ChosenValues {
  readonly values: ScalingValues;
  readonly outcomes: ScalingDocument['traffic'];
  /** Whether the limit holds for as large a share as asked. */
  readonly holds: boolean;
}

/** Shares of a replica's capacity that may be its target. */
const TARGET_SHARES = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5] as const;
/** Times over which fewer replicas must have been enough. */
const SCALE_DOWN_SECONDS = [60, 120, 300, 600, 1200] as const;
/** Shares of the replicas of the busiest step that are never stopped. */
const KEPT_SHARES = [0, 0.25, 0.5, 0.75, 1] as const;
/** Replicas beyond those of the busiest step, which work off a backlog. */
const SPARE = 1.25;
/**
 * The share of what is allowed that values may break: other days are worse than those simulated.
 */
const CAUTION = 0.7;

/**
 * Returns the values that need the fewest replica-hours while the limit holds for at least this
 * share of the requests of every traffic; those for which it holds for most if there are none.
 * `leastScaleDownSeconds`: how long a burst needs to recover.
 */
export function chooseValues(
  traffic: readonly TrafficCurve[],
  replica: ReplicaFigures,
  autoscaler: Autoscaler,
  { holdShare, leastScaleDownSeconds }: { readonly holdShare: number; readonly leastScaleDownSeconds: number },
): ChosenValues {
  const rates = traffic.map(drawSeconds);
  const peak = Math.max(...traffic.flatMap(({ perSecond }) => perSecond));
  let best: { values: ScalingValues; outcomes: readonly ScalingOutcome[] } | null = null;
  for (const share of TARGET_SHARES) {
    const targetPerSecond = share * replica.capacityPerSecond;
    const maxReplicas = replicasFor(SPARE * peak, targetPerSecond);
    for (const seconds of SCALE_DOWN_SECONDS) {
      const scaleDownSeconds = Math.max(seconds, Math.ceil(leastScaleDownSeconds));
      for (const kept of KEPT_SHARES) {
        const minReplicas = replicasFor(kept * peak, targetPerSecond);
        const values = { targetPerSecond, minReplicas, maxReplicas, scaleDownSeconds };
        const outcomes = rates.map((each) => simulateScaling(each, replica, autoscaler, values));
        if (best === null || isBetter(outcomes, best.outcomes, CAUTION * (1 - holdShare))) best = { values, outcomes };
      }
    }
  }
  const { values, outcomes } = best as NonNullable<typeof best>;
  return {
    values,
    holds: worstShare(outcomes) <= 1 - holdShare,
    outcomes: outcomes.map(({ brokenShare, replicaHours }, index) => {
      const { name, perSecond } = traffic[index] as TrafficCurve;
      const seconds = rates[index] as Float64Array;
      return {
        name,
        hours: seconds.length / 3600,
        peakPerSecond: Math.max(...perSecond),
        brokenShare,
        replicaHours,
        clairvoyantHours: clairvoyantHours(seconds, replica),
      };
    }),
  };
}

function isBetter(outcomes: readonly ScalingOutcome[], others: readonly ScalingOutcome[], allowed: number): boolean {
  const [broken, othersBroken] = [worstShare(outcomes), worstShare(others)];
  if (broken > allowed || othersBroken > allowed) return broken < othersBroken;
  return sumHours(outcomes) < sumHours(others);
}

const worstShare = (outcomes: readonly ScalingOutcome[]): number =>
  Math.max(...outcomes.map(({ brokenShare }) => brokenShare));

const sumHours = (outcomes: readonly ScalingOutcome[]): number =>
  outcomes.reduce((sum, { replicaHours }) => sum + replicaHours, 0);
