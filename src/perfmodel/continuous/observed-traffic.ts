import type { LengthSummary } from '#profiler/figure-schemas.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { SequenceLengths, TokenLengths } from '#queueing/continuous/lengths.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { isUsable } from '../observations.ts';
import { arrivalsIn, underEach } from '../observed-arrivals.ts';
import type { MeasuredChoice } from '../service-model.ts';

/** A measurement with figures of tokens. */
type TokenMeasurement = Measurement & Required<Pick<Measurement, 'tokens'>>;

/** A choice of an engine with a measurement of its tokens. */
export interface TokenObservation extends Pick<MeasuredChoice, 'choice'> {
  readonly measurement: TokenMeasurement;
  /** The arrivals during it; absent for an even rate. */
  readonly arrivals?: ArrivalPlan | undefined;
}

/**
 * The arrivals that the law is fitted to under a workload: a simulation of an engine takes long.
 */
const ARRIVALS = 120;

/**
 * Returns the measurements that the law can be fitted to, one per measured workload: undisturbed,
 * of engines with continuous batching, and with figures of tokens.
 */
export const tokenObservations = (
  measured: readonly MeasuredChoice[],
  workloads?: StudyWorkloads,
): TokenObservation[] =>
  measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap(underEach).flatMap((measurement) => {
      const { tokens } = measurement;
      if (!choice.continuous || !tokens || !(tokens.outputTokensPerSecond.value > 0) || !isUsable(measurement))
        return [];
      return [
        { choice, measurement: { ...measurement, tokens }, arrivals: arrivalsIn(workloads, measurement, ARRIVALS) },
      ];
    }),
  );

/**
 * Returns the lengths of the study's requests, over all measurements, and the share of prompts that
 * is cached under policies that cache.
 */
export function observedLengths(observations: readonly TokenObservation[]): SequenceLengths {
  const cached = observations.flatMap(({ choice, measurement: { tokens } }) =>
    choice.continuous?.cachesPrefixes && tokens.cachedShare !== undefined ? [tokens.cachedShare] : [],
  );
  return {
    input: pooled(observations, ({ inputTokens }) => inputTokens),
    output: pooled(observations, ({ outputTokens }) => outputTokens),
    cachedShare: cached.length > 0 ? cached.reduce((sum, share) => sum + share) / cached.length : 0,
  };
}

/** Pools lengths, weighted by requests. */
function pooled(
  observations: readonly TokenObservation[],
  of: (tokens: TokenMeasurement['tokens']) => LengthSummary,
): TokenLengths {
  const all = observations.map(({ measurement }) => ({ ...of(measurement.tokens), weight: measurement.requests }));
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  const mean = all.reduce((sum, each) => sum + each.weight * each.mean, 0) / total;
  const variance = all.reduce((sum, each) => sum + each.weight * (each.std ** 2 + (each.mean - mean) ** 2), 0) / total;
  return {
    mean,
    std: Math.sqrt(variance),
    min: Math.min(...all.map(({ min }) => min)),
    max: Math.max(...all.map(({ max }) => max)),
  };
}
