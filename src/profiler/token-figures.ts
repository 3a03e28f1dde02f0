import type { TokenCounter } from '../loadgen/token-reply.ts';
import type { Interval } from '../stats/interval.ts';
import type { LatencySummary } from './latencies.ts';

/**
 * Figures of a language model over the successful requests of the counted windows. The end-to-end
 * latency is the measurement's `latencyMs`; its throughput is in requests per second.
 */
export interface TokenFigures {
  /** Time to first token: from the sending to the first piece with output. */
  readonly ttftMs: LatencySummary;
  /** The same from the due time of each request; only in an open loop. */
  readonly scheduledTtftMs?: LatencySummary;
  /** Inter-token latency: every gap between pieces with output, over all requests. */
  readonly itlMs: LatencySummary;
  /**
   * Time per output token: (end-to-end − TTFT) / (output tokens − 1), one figure per request;
   * requests with one token have none.
   */
  readonly tpotMs: LatencySummary;
  /**
   * The budgeted percentile, with its interval, of TTFT (from the due time in an open loop), ITL
   * and TPOT.
   */
  readonly budget: { readonly ttftMs: Interval; readonly itlMs: Interval; readonly tpotMs: Interval };
  readonly outputTokensPerSecond: Interval;
  readonly totalTokensPerSecond: Interval;
  /** Output tokens per second that one user sees while tokens arrive: the mean of 1 / TPOT. */
  readonly outputTokensPerSecondPerUser: number;
  /**
   * The measurement's goodput, repeated here for readers of older documents, which had it only
   * here.
   */
  readonly goodput?: Interval;
  readonly inputTokens: LengthSummary;
  readonly outputTokens: LengthSummary;
  /**
   * Share of the input tokens found in the server's prefix cache; absent if the server does not
   * report it.
   */
  readonly cachedShare?: number;
  readonly countedBy: TokenCounter;
  /** Replies that ended before the server marked them complete; they count as failed. */
  readonly cutOff: number;
}

/** Lengths in tokens, over requests. */
export interface LengthSummary {
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

/**
 * Means over the windows of the scheduler figures on an engine's metrics page; a field is absent if
 * the page lacks it.
 */
export interface EngineFigures {
  readonly runningSequences?: number;
  readonly waitingSequences?: number;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCacheShare?: number;
  /** Sequences that lost their place in the KV cache, per second. */
  readonly preemptionsPerSecond?: number;
}
