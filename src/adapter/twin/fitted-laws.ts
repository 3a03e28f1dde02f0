import { median } from 'simple-statistics';
import { hasServicePoints, meanSplit } from '#perfmodel/observation.ts';
import type { WithoutParts } from '#perfmodel/parts.ts';
import { fitServiceTimes } from '#perfmodel/service-times.ts';
import type { ServiceLaw } from '#queueing/service-law.ts';
import type { Attempt } from '#study/analysis/memory-attempts.ts';

/** The service laws of a study by settings key. */
export interface FittedLaws {
  /**
   * Returns the service law for these settings, up to the largest batch that was tried; null where
   * they were not measured.
   */
  of(settingsKey: string): ServiceLaw | null;
  /** The median time of a request outside queue and execution. */
  readonly roundTripNs: number;
  readonly observations: number;
  /** Median of |law / observed - 1| over the observed execution times. */
  readonly medianResidual: number;
}

/** The emulator has its own front end, and its service law has no effect of idle instances. */
const unlikeTheEmulator: WithoutParts = { has: (part) => part === 'front-end' || part === 'idle-interference' };

/** Fits the service laws; null without statistics by batch size. */
export function fittedLaws(attempts: readonly Attempt[]): FittedLaws | null {
  const times = fitServiceTimes(attempts, unlikeTheEmulator);
  if (!times) return null;
  const telling = attempts.filter(({ observations }) => observations.some(hasServicePoints));
  const observations = telling.flatMap((attempt) => attempt.observations.filter(hasServicePoints));
  return {
    of(settingsKey) {
      const choices = telling.filter((attempt) => attempt.settingsKey === settingsKey).map(({ choice }) => choice);
      const [largest] = choices.sort(
        (a, b) => b.largestBatch - a.largestBatch || a.policy.instances - b.policy.instances,
      );
      return largest ? { ...times.of(largest), split: meanSplit(observations) } : null;
    },
    roundTripNs: Math.max(0, median(observations.map((each) => each.roundTripNs))),
    observations: observations.length,
    medianResidual: median([...times.misses()]),
  };
}
