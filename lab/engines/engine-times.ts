import type { StepTimes } from '../../src/queueing/continuous/step-law.ts';
import type { MadeEngineSettings } from './engine.ts';

/**
 * The times of a made-up engine's steps, in nanoseconds. The form differs from the law that a
 * search fits: decoding sequences are padded to the sizes of captured graphs, weights and
 * arithmetic overlap in part, short chunks compute inefficiently, and a step with both prompts and
 * decoding has an extra cost.
 */
export interface EngineTimes {
  readonly overheadNs: number;
  readonly weightsNs: number;
  /** Arithmetic of one token in a large step. */
  readonly tokenNs: number;
  /** Tokens of a chunk that take twice their share of the arithmetic. */
  readonly shortChunk: number;
  /** Reading one token's keys and values. */
  readonly contextNs: number;
  readonly pairNs: number;
  /** Sampling and bookkeeping per sequence, with the number of sequences to the power of 1.15. */
  readonly sequenceNs: number;
  /** Added to each step that has both prompts and decoding. */
  readonly mixedNs: number;
  /** Decoding sequences are padded to multiples of this number. */
  readonly padding: number;
  readonly cv: number;
  /**
   * The effect of threads on arithmetic: speed grows with their number to this power, up to
   * `cores`.
   */
  readonly threads?: { readonly power: number; readonly cores: number };
}

/** The power mean of weights and arithmetic: 1 is their sum, infinity their maximum. */
const OVERLAP = 3;
/** The factors of reading keys and values in fewer bits, and of each token's time. */
const FP8 = { context: 0.6, token: 1.06 };
/** Each thread beyond the cores makes every step longer by this share. */
const PER_SPARE_THREAD = 0.12;

/** Returns the times of an engine's steps with these settings. */
export function toStepTimes(times: EngineTimes, { kv_cache_dtype, threads }: MadeEngineSettings): StepTimes {
  const isFp8 = kv_cache_dtype === 'fp8';
  const tokenNs = times.tokenNs * (isFp8 ? FP8.token : 1);
  const contextNs = times.contextNs * (isFp8 ? FP8.context : 1);
  const { power, cores } = times.threads ?? { power: 0, cores: Number.POSITIVE_INFINITY };
  const slower = (1 + PER_SPARE_THREAD * Math.max(0, threads - cores)) / Math.min(threads, cores) ** power;
  return {
    cv: times.cv,
    stepNs({ prefillTokens, prefillPairs, decoding, contextTokens }) {
      const padded = Math.ceil(decoding / times.padding) * times.padding;
      const arithmeticNs = tokenNs * (padded + prefillTokens + (prefillTokens > 0 ? times.shortChunk : 0));
      const linearNs = (times.weightsNs ** OVERLAP + arithmeticNs ** OVERLAP) ** (1 / OVERLAP);
      const attentionNs = contextNs * contextTokens * (1 + 4 / (4 + decoding)) + times.pairNs * prefillPairs;
      const mixedNs = decoding > 0 && prefillTokens > 0 ? times.mixedNs : 0;
      return times.overheadNs + slower * (linearNs + attentionNs) + times.sequenceNs * decoding ** 1.15 + mixedNs;
    },
  };
}
