import { median } from 'simple-statistics';
import type { WithoutParts } from '../../perfmodel/parts.ts';
import { serviceTimesOf } from '../../perfmodel/service-times.ts';
import { type Observation, servicePoints } from '../../queueing/observation.ts';
import { executionNs, type ServiceLaw } from '../../queueing/service-law.ts';
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
  const telling = attempts.filter(({ observations }) => observations.some(tells));
  const observations = telling.flatMap((attempt) => attempt.observations.filter(tells));
  const residuals = telling.flatMap(({ choice, observations: own }) =>
    own.flatMap(servicePoints).map((point) => {
      const fittedNs = executionNs(times.of(choice), point.batchSize, point.busyInstances);
      return Math.abs(fittedNs / point.executionNs - 1);
    }),
  );
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

const tells = (observation: Observation): boolean => servicePoints(observation).length > 0;

function meanSplit(observations: readonly Observation[]): ServiceLaw['split'] {
  const mean = (of: (observation: Observation) => number): number =>
    observations.reduce((sum, observation) => sum + of(observation), 0) / observations.length;
  return { input: mean(({ split }) => split.input), output: mean(({ split }) => split.output) };
}
