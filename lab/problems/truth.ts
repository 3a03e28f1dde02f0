import type { TokenLengths } from '../../src/queueing/continuous/lengths.ts';

/** The true figures of a candidate at a level, without measurement noise. */
export interface Truth {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyMs: {
    readonly avg: number;
    readonly p50: number;
    readonly p90: number;
    readonly p95: number;
    readonly p99: number;
  };
  /** Per request, in microseconds. */
  readonly queueUs: number;
  readonly computeUs: number;
  readonly batches: readonly { readonly size: number; readonly executions: number; readonly meanExecutionUs: number }[];
  /** Parts of the server's time per request in microseconds, if known. */
  readonly split?: { readonly inputUs: number; readonly outputUs: number; readonly overheadUs: number };
  /**
   * For a pipeline: the number of requests behind the figures, what each stage did, and what each
   * of several fronts saw.
   */
  readonly requests?: number;
  readonly stages?: readonly StageTruth[];
  readonly fronts?: readonly FrontTruth[];
  /** The token figures of a language model engine; its throughput is requests per second. */
  readonly tokens?: TokenTruth;
}

/** The true figures of tokens. */
export interface TokenTruth {
  readonly ttftMs: Truth['latencyMs'];
  readonly itlMs: Truth['latencyMs'];
  readonly tpotMs: Truth['latencyMs'];
  readonly outputTokensPerSecond: number;
  readonly totalTokensPerSecond: number;
  readonly outputTokensPerSecondPerUser: number;
  /** Requests per second within all limits; absent without limits. */
  readonly goodput?: number;
  readonly inputTokens: TokenLengths;
  readonly outputTokens: TokenLengths;
  readonly cachedShare: number;
}

/** The true figures of one stage of a pipeline; means per request to the stage. */
export interface StageTruth extends Pick<Truth, 'queueUs' | 'computeUs' | 'batches'> {
  readonly model: string;
  readonly requests: number;
}

/** The true figures of the requests to one of several models. */
export interface FrontTruth extends Pick<Truth, 'throughput' | 'latencyMs'> {
  readonly model: string;
  readonly requests: number;
}

/** Returns the truth on a machine of that speed: every time is divided by the speed. */
export function atSpeed(truth: Truth, speed: number): Truth {
  if (speed === 1) return truth;
  const { avg, p50, p90, p95, p99 } = truth.latencyMs;
  return {
    ...truth,
    throughput: truth.throughput * speed,
    latencyMs: { avg: avg / speed, p50: p50 / speed, p90: p90 / speed, p95: p95 / speed, p99: p99 / speed },
    ...(truth.tokens && { tokens: tokensAtSpeed(truth.tokens, speed) }),
    queueUs: truth.queueUs / speed,
    computeUs: truth.computeUs / speed,
    batches: truth.batches.map((batch) => ({ ...batch, meanExecutionUs: batch.meanExecutionUs / speed })),
    ...(truth.split && {
      split: {
        inputUs: truth.split.inputUs / speed,
        outputUs: truth.split.outputUs / speed,
        overheadUs: truth.split.overheadUs / speed,
      },
    }),
  };
}

function tokensAtSpeed(tokens: TokenTruth, speed: number): TokenTruth {
  const times = ({ avg, p50, p90, p95, p99 }: Truth['latencyMs']): Truth['latencyMs'] => ({
    avg: avg / speed,
    p50: p50 / speed,
    p90: p90 / speed,
    p95: p95 / speed,
    p99: p99 / speed,
  });
  return {
    ...tokens,
    ttftMs: times(tokens.ttftMs),
    itlMs: times(tokens.itlMs),
    tpotMs: times(tokens.tpotMs),
    outputTokensPerSecond: tokens.outputTokensPerSecond * speed,
    totalTokensPerSecond: tokens.totalTokensPerSecond * speed,
    outputTokensPerSecondPerUser: tokens.outputTokensPerSecondPerUser * speed,
    ...(tokens.goodput !== undefined && { goodput: tokens.goodput * speed }),
  };
}
