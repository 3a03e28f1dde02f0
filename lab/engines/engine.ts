import type { SequenceLengths } from '../../src/queueing/continuous/lengths.ts';
import type { StepTimes } from '../../src/queueing/continuous/step-law.ts';
import type { LevelRange } from '../../src/study/types.ts';

/** A made-up engine of a language model, with its traffic and its goal. */
export interface Engine {
  readonly name: string;
  /** Returns the true times of the engine's steps. */
  times(settings: MadeEngineSettings): StepTimes;
  readonly lengths: SequenceLengths;
  readonly roundTripNs: number;
  /** Tokens of the KV cache with a memory share of 1, and the size of a token in fewer bits. */
  readonly kvTokens: number;
  readonly axes: EngineAxes;
  readonly original: MadeEngineSettings;
  /** True if the engine does not start because the settings need too much memory. */
  refuses(settings: MadeEngineSettings): boolean;
  readonly ask: Ask;
  readonly levels: LevelRange;
  /** The levels at which the optimum is searched for. */
  readonly gridLevels: readonly number[];
  /** Relative standard deviation of a measurement: of rates, and of high percentiles. */
  readonly noise: { readonly throughput: number; readonly latency: number };
}

/** The settings of an engine. */
export interface MadeEngineSettings {
  readonly max_num_seqs: number;
  /** 0 if prompts are not chunked. */
  readonly max_num_batched_tokens: number;
  /** Share of the memory, 0 to 1. */
  readonly gpu_memory: number;
  readonly prefix_caching: boolean;
  readonly kv_cache_dtype: 'auto' | 'fp8';
  readonly threads: number;
}

export type EngineAxes = { readonly [name in keyof MadeEngineSettings]: readonly MadeEngineSettings[name][] };

/**
 * The goal of an engine: most goodput; most output tokens per second within p99 TTFT and p99 ITL;
 * or most requests per second within p99 latency. The limits are multiples of the original's
 * figures at the lightest load.
 */
export interface Ask {
  readonly what: 'goodput' | 'tokens' | 'requests';
  readonly ttft: number;
  readonly itl: number;
}
