import type { ServiceLaw } from '#queueing/service-law.ts';
import type { Candidate } from '#space/types.ts';
import { type ExecutionLaws, fitExecutionLaws, listPoints, type Observed } from './execution-laws.ts';
import { fitSpread } from './fit-spread.ts';
import { fitFrontEnd } from './front-end.ts';
import { hasServicePoints } from './observation.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/** Service laws by choice, each fitted mostly to similar choices. */
export interface ServiceTimes extends ExecutionLaws {
  readonly roundTripNs: number;
}

/** The coefficient of variation of execution times if it is not fitted. */
const USUAL_CV = 0.05;

/**
 * Fits service laws to the server's statistics by batch size and the clients' figures: execution
 * times (`fitExecutionLaws`), the front end, and the spread. null without statistics by batch size.
 */
export function fitServiceTimes(
  observed: readonly Observed[],
  without: WithoutParts = WHOLE,
  expectedTime: (candidate: Candidate) => number = () => 1,
): ServiceTimes | null {
  const timed = observed.map((each) => ({ choice: each.choice, points: listPoints(each) }));
  const laws = fitExecutionLaws(timed, without, expectedTime);
  if (!laws) return null;
  const telling = observed.flatMap(({ choice, observations }) =>
    observations.filter(hasServicePoints).map((observation) => ({ observation, law: laws.of(choice) })),
  );
  // Under load the round trip includes the front end's time for other requests, which is fitted
  // separately.
  const roundTripNs = Math.max(0, Math.min(...telling.map(({ observation }) => observation.roundTripNs)));
  const { frontEndNs, ...way } = fitFrontEnd(telling, roundTripNs, without);
  const explained = telling.map(({ law, observation }) => ({
    law: { ...law, frontEndNs },
    observation: { ...observation, roundTripNs: way.roundTripNs },
  }));
  const cv = without.has('tails') ? USUAL_CV : fitSpread(explained);
  const finished = new Map<ServiceLaw, ServiceLaw>();
  return {
    roundTripNs: way.roundTripNs,
    uncertainty: laws.uncertainty,
    misses: laws.misses,
    of(choice) {
      const law = laws.of(choice);
      const whole = finished.get(law) ?? { ...law, cv, frontEndNs };
      finished.set(law, whole);
      return whole;
    },
  };
}
