import type { TokenCounter } from '../loadgen/token-reply.ts';
import type { Interval } from '../stats/interval.ts';
import type { LatencySummary } from './latencies.ts';

/**
 * What a measurement says of a language model, over the successful requests of the counted windows. The end-to-end latency is the
 * measurement's `latencyMs`, its throughput requests per second.
 */
export interface TokenFigures {
  /** Time to first token: from the sending to the first piece with output. */
  readonly ttftMs: LatencySummary;
  /** The same from the time that each request was due; in an open loop only. */
  readonly scheduledTtftMs?: LatencySummary;
  /** Inter-token latency: every gap between pieces with output, over all requests. */
  readonly itlMs: LatencySummary;
  /** Time per output token: (end-to-end − TTFT) / (output tokens − 1), one figure a request; requests with one token have none. */
  readonly tpotMs: LatencySummary;
  /** The percentile that the goal is about, with its interval, of TTFT (from the time due in an open loop), ITL and TPOT. */
  readonly budget: { readonly ttftMs: Interval; readonly itlMs: Interval; readonly tpotMs: Interval };
  readonly outputTokensPerSecond: Interval;
  readonly totalTokensPerSecond: Interval;
  /** Output tokens per second that one user sees while tokens come: the mean of 1 / TPOT. */
  readonly outputTokensPerSecondPerUser: number;
  /** The measurement's goodput, also here for the readers of documents: earlier versions had it here alone. */
  readonly goodput?: Interval;
  readonly inputTokens: LengthSummary;
  readonly outputTokens: LengthSummary;
  /** Share of the input tokens that the server had in its prefix cache; absent where it does not say. */
  readonly cachedShare?: number;
  readonly countedBy: TokenCounter;
  /** Replies that ended before the server said that they were complete; they count as failed. */
  readonly cutOff: number;
}

/** Lengths in tokens, over requests. */
export interface LengthSummary {
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

/** Means over the windows of what an engine's metrics page says of its scheduler; a field is missing where the page lacks it. */
export interface EngineFigures {
  readonly runningSequences?: number;
  readonly waitingSequences?: number;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCacheShare?: number;
  /** Sequences that lost their place in the KV cache, per second. */
  readonly preemptionsPerSecond?: number;
}
