import type { Measurement } from '../../profiler/measurement.ts';
import type { LengthSummary } from '../../profiler/token-figures.ts';
import type { SequenceLengths, TokenLengths } from '../../queueing/continuous/lengths.ts';
import { isUsable } from '../observations.ts';
import type { Measured } from '../simulator.ts';

/** A measurement with figures of tokens. */
type TokenMeasurement = Measurement & Required<Pick<Measurement, 'tokens'>>;

/** A choice of an engine with a measurement that says what its tokens did. */
export interface TokenObservation extends Pick<Measured, 'choice'> {
  readonly measurement: TokenMeasurement;
}

/** Returns the measurements that the law can be fitted to: of engines with continuous batching, undisturbed, with figures of tokens. */
export const tokenObservations = (measured: readonly Measured[]): TokenObservation[] =>
  measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement) => {
      const { tokens } = measurement;
      return choice.continuous && tokens && tokens.outputTokensPerSecond.value > 0 && isUsable(measurement)
        ? [{ choice, measurement: { ...measurement, tokens } }]
        : [];
    }),
  );

/** Returns the lengths of the study's requests, over all measurements, and the share of prompts that is cached under policies that cache. */
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
