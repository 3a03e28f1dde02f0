import { median } from 'simple-statistics';

/** The quality of a fit's explanation of its own data. */
export type FitQuality = {
  /** Median of |fitted / measured − 1|. */
  readonly medianMiss: number;
  readonly isGood: boolean;
  /** The same in words. */
  readonly words: string;
};

/**
 * The largest median error of a good fit: measurements repeat to a few per cent, so a larger one
 * means that the model lacks something.
 */
const LARGEST_GOOD_MISS = 0.1;

/** Judges a fit. `misses`: |fitted / measured − 1| of each figure, at least one. */
export function fitQuality(misses: readonly number[]): FitQuality {
  const medianMiss = median([...misses]);
  const isGood = medianMiss <= LARGEST_GOOD_MISS;
  const percent = `${(100 * medianMiss).toFixed(1)} %`;
  return {
    medianMiss,
    isGood,
    words: isGood
      ? `explains what it was fitted to, to ${percent} in the median`
      : `explains what it was fitted to badly, to ${percent} in the median (a good fit: ${100 * LARGEST_GOOD_MISS} %): something else than what is modelled decides here, so measure rather than rely on it`,
  };
}
