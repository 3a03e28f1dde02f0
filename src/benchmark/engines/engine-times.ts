import type { StepTimes } from '../../queueing/continuous/step-law.ts';
import type { EngineSettings } from './engine.ts';

/**
 * What a made-up engine takes for its steps, in nanoseconds. The form is another than that of the law which a search fits: decoding sequences are padded to
 * the sizes of captured graphs, weights and arithmetic overlap in part, short chunks are computed badly, and a step with both prompts and decoding has a cost
 * of its own.
 */
export interface EngineTimes {
  readonly overheadNs: number;
  readonly weightsNs: number;
  /** Arithmetic of one token in a large step. */
  readonly tokenNs: number;
  /** Tokens of a chunk that take twice their share of the arithmetic. */
  readonly shortChunk: number;
  /** Reading of one token's keys and values. */
  readonly contextNs: number;
  readonly pairNs: number;
  /** Sampling and bookkeeping of one sequence, to the power of 1.15 of their number. */
  readonly sequenceNs: number;
  /** Once a step that has both prompts and decoding. */
  readonly mixedNs: number;
  /** Sizes that decoding sequences are padded to: multiples of this. */
  readonly padding: number;
  readonly cv: number;
  /** How much of the arithmetic threads share: speed grows with the number to this power, up to `cores`. */
  readonly threads?: { readonly power: number; readonly cores: number };
}

/** The power mean of weights and arithmetic: 1 is their sum, infinity their maximum. */
const OVERLAP = 3;
/** What keys and values in fewer bits take to read, and what each token then takes more. */
const FP8 = { context: 0.6, token: 1.06 };
/** Threads beyond the cores make every step this much longer, each. */
const PER_SPARE_THREAD = 0.12;

/** Returns the times of an engine's steps with these settings. */
export function stepTimesOf(times: EngineTimes, { kv_cache_dtype, threads }: EngineSettings): StepTimes {
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
