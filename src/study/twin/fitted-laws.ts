import { median } from 'simple-statistics';
import type { WithoutParts } from '../../perfmodel/parts.ts';
import { executionMisses, serviceTimesOf } from '../../perfmodel/service-times.ts';
import { hasServicePoints, meanSplit } from '../../queueing/observation.ts';
import type { ServiceLaw } from '../../queueing/service-law.ts';
import type { Attempt } from './attempts.ts';

/** The service laws of a study's variants. */
export interface FittedLaws {
  /** The law of a variant, up to the largest batch that it was tried with; null where it was never measured. */
  of(variant: string): ServiceLaw | null;
  /** What a request takes beside its queue and its execution: a median. */
  readonly roundTripNs: number;
  readonly observations: number;
  /** Median of |law / observed - 1| over the observed execution times. */
  readonly medianResidual: number;
}

/** The emulator has a front end of its own, and its law has only what busy instances do to each other. */
const unlikeTheEmulator: WithoutParts = { has: (part) => part === 'front-end' || part === 'presence' };

/** null without statistics by batch size. */
export function fittedLaws(attempts: readonly Attempt[]): FittedLaws | null {
  const times = serviceTimesOf(attempts, unlikeTheEmulator);
  if (!times) return null;
  const telling = attempts.filter(({ observations }) => observations.some(hasServicePoints));
  const observations = telling.flatMap((attempt) => attempt.observations.filter(hasServicePoints));
  const residuals = telling.flatMap(({ choice, observations: own }) => executionMisses(times.of(choice), own));
  return {
    of(variant) {
      const own = telling.filter((attempt) => attempt.variant === variant).map(({ choice }) => choice);
      const [largest] = own.sort((a, b) => b.largestBatch - a.largestBatch || a.policy.instances - b.policy.instances);
      return largest ? { ...times.of(largest), split: meanSplit(observations) } : null;
    },
    roundTripNs: Math.max(0, median(observations.map((each) => each.roundTripNs))),
    observations: observations.length,
    medianResidual: median(residuals),
  };
}
