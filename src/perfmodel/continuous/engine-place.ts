import type { Choice } from '../modelled-config.ts';
import type { Place } from '../places.ts';

/** Doublings of the tokens of a step, or of the KV cache, beyond which more make no difference. */
const MANY_TOKENS = { step: 15, cache: 24 };

/**
 * Returns the coordinates of an engine: the simulation's errors depend mostly on how full it is and
 * how prompts interrupt the decoding steps.
 */
export function placeOfEngine({ policy, settings, continuous }: Choice, level: number): Place {
  const {
    maxSequences = 1,
    maxStepTokens = null,
    chunksPrefill = true,
    mixesPrefill = true,
    kvCacheTokens = null,
    cachesPrefixes = false,
  } = continuous ?? {};
  const doublings = (tokens: number | null, most: number): number =>
    Math.min(most, tokens === null ? most : Math.log2(tokens));
  return {
    coordinates: [
      Math.log2(Math.min(policy.instances, level)) / 1.5,
      Math.log2(Math.min(maxSequences, level)) / 2,
      doublings(maxStepTokens, MANY_TOKENS.step) / 4,
      chunksPrefill ? 0 : 0.7,
      chunksPrefill || mixesPrefill ? 0 : 0.7,
      doublings(kvCacheTokens, MANY_TOKENS.cache) / 4,
      cachesPrefixes ? 0.7 : 0,
      Math.log2(level) / 1.5,
    ],
    settings,
  };
}
