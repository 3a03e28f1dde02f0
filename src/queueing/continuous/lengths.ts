import { gammaFrom, type Random } from '#base/random.ts';
import type { Sequence } from './sequence.ts';

/** The lengths of prompts or answers, in tokens, as known of a sample. */
export interface TokenLengths {
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

/** The lengths of a traffic's requests, independent of each other. */
export interface SequenceLengths {
  readonly input: TokenLengths;
  readonly output: TokenLengths;
  /** Share of a prompt that is cached under a policy that caches prefixes, 0 to 1. */
  readonly cachedShare: number;
}

/** Draws sequences of these lengths. */
export function createSequences({ input, output, cachedShare }: SequenceLengths, random: Random): () => Sequence {
  const [drawInput, drawOutput] = [drawnFrom(input, random), drawnFrom(output, random)];
  return () => {
    const inputTokens = drawInput();
    return { inputTokens, outputTokens: drawOutput(), cachedTokens: Math.floor(cachedShare * inputTokens) };
  };
}

/**
 * Returns a generator of lengths from the beta distribution over [min, max] with this mean and
 * standard deviation: uniform if they are those of a uniform distribution, with a long tail if the
 * mean is near an end. Constantly the mean if nothing varies.
 */
function drawnFrom({ mean, std, min, max }: TokenLengths, random: Random): () => number {
  const whole = (tokens: number): number => Math.max(1, Math.round(tokens));
  const range = max - min;
  if (!(std > 0 && range > 0 && mean > min && mean < max)) return () => whole(mean);
  const share = (mean - min) / range;
  // The largest variance of a distribution over the range with this mean; its excess over the
  // wanted variance gives the sum of the beta's parameters.
  const sum = Math.max(MIN_SUM, (share * (1 - share) * range * range) / (std * std) - 1);
  const [low, high] = [gammaFrom(share * sum, random), gammaFrom((1 - share) * sum, random)];
  return () => {
    const [above, below] = [low(), high()];
    return whole(above + below > 0 ? min + (range * above) / (above + below) : mean);
  };
}

const MIN_SUM = 0.05;
