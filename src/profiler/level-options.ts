import type { Alarm } from '#base/alarm.ts';
import type { Clock } from '#base/clock.ts';
import type { ClientWatch } from '#loadgen/client/cost.ts';
import type { Flow } from '#loadgen/flow.ts';
import type { OpenLoopRule } from '#loadgen/open-loop.ts';
import type { Schedule } from '#loadgen/pacers.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import type { SequenceRule } from '#loadgen/sequences.ts';
import type { LoadLevel, RequestSet, Transport } from '#loadgen/types.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { ServerStats } from '#triton/types.ts';
import type { DeviceProbe } from './devices/device-probe.ts';
import type { EngineProbe } from './devices/engine-metrics.ts';
import type { ProfileProgress } from './progress.ts';

/**
 * Lengths of the windows and of the measurement. Windows get longer for slow models, within these
 * bounds.
 */
export interface WindowRule {
  readonly minWindowMs: number;
  readonly maxWindowMs: number;
  /** Windows before the first verdict, … */
  readonly minWindows: number;
  /** … and the limit after which the measurement ends as unstable. */
  readonly maxWindows: number;
  /** Requests that a window should hold, within the bounds of its length. */
  readonly minRequests: number;
  /**
   * Mean latencies that a window should last, within the bounds of its length. Shorter neighbouring
   * windows share their requests.
   */
  readonly minLatencies: number;
  readonly maxWarmUpMs: number;
  /**
   * The maximum number of windows to measure again because a delay of the load generator may have
   * moved the percentile.
   */
  readonly maxVoidWindows: number;
}

export const defaultWindowRule: WindowRule = {
  minWindowMs: 250,
  maxWindowMs: 2000,
  minWindows: 3,
  maxWindows: 10,
  minRequests: 100,
  minLatencies: 20,
  maxWarmUpMs: 6000,
  maxVoidWindows: 10,
};

/** ±3 %. */
export const defaultPrecision = 0.03;

/** Decides when there are enough windows, and which of them form the measurement. */
export type StabilityRule = IntervalRule | PassesRule | PerfAnalyzerRule | RequestCountRule;

/**
 * Stops when the confidence intervals are within `precision`, or when the verdict on the budget is
 * clear. All windows count.
 */
export interface IntervalRule {
  readonly kind: 'interval';
}

/**
 * Plays whole passes of a plan of arrivals, so that each phase counts for as long as it lasts. This
 * is the default rule for plans; only the interval rule can replace it.
 */
export interface PassesRule {
  readonly kind: 'passes';
  /** If absent, enough passes to last at least five seconds. */
  readonly passes?: number | undefined;
}

/**
 * perf_analyzer's rule: the last three windows lie within a percentage of each other in throughput
 * and in latency, and form the measurement. Results that are unstable or over the threshold are
 * reported and marked.
 */
export interface PerfAnalyzerRule {
  readonly kind: 'perf-analyzer';
  readonly mode: 'time_windows' | 'count_windows';
  /** Length of a time window; it ends with the first completion after it. */
  readonly windowMs: number;
  /** The minimum number of requests in a count window, which also lasts at least half a second. */
  readonly requestCount: number;
  /** Percentage by which the largest of three windows may exceed the smallest. */
  readonly stabilityPercent: number;
  /** The number of windows after which the measurement ends as unstable. */
  readonly maxTrials: number;
  /** The latency percentile that must be stable; the average if absent. */
  readonly percentile?: number | undefined;
  /**
   * Limit in milliseconds: measuring stops once one of the last three latencies reaches it. 0 or
   * absent: no limit.
   */
  readonly latencyThresholdMs?: number | undefined;
}

export const defaultPerfAnalyzerRule: PerfAnalyzerRule = {
  kind: 'perf-analyzer',
  mode: 'time_windows',
  windowMs: 5000,
  requestCount: 50,
  stabilityPercent: 10,
  maxTrials: 10,
};

/**
 * A single window of exactly this number of requests, from the first one's sending to the last
 * one's reply.
 */
export interface RequestCountRule {
  readonly kind: 'request-count';
  readonly requests: number;
}

export interface LevelOptions {
  readonly transport: Transport;
  /**
   * Sends from other threads, with their own transports. If absent, this thread sends over
   * `transport`.
   */
  readonly openFlow?: ((order: SendOrder) => Flow) | undefined;
  readonly requests: RequestSet;
  /** For models that keep state between requests; if absent, requests are independent. */
  readonly sequences?: SequenceRule | undefined;
  readonly level: LoadLevel;
  /** null if the server has none. */
  readonly stats: ServerStats | null;
  /** Models whose statistics are also read: those that the model consists of or calls. */
  readonly composing?: readonly string[];
  /**
   * Requests that each of those models gets per request, if certain; any more come from other
   * clients. null if the number is uncertain.
   */
  readonly timesPerRequest?: ReadonlyMap<string, number | null>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The percentile of the budget, such as 99. */
  readonly percentile: number;
  /**
   * Stop when the 95 % intervals of throughput, and of the percentile if it has a budget, are
   * within ± this share.
   */
  readonly precision?: number;
  /**
   * Latency budget in milliseconds. If set, the measurement ends early once the percentile is
   * clearly above it, or clearly below it with the throughput precise.
   */
  readonly budgetMs?: number;
  readonly windows?: Partial<WindowRule>;
  /** Confidence intervals if absent. */
  readonly stability?: StabilityRule;
  /**
   * The exact number of warm-up requests; if absent, warm-up lasts until latency has stopped
   * falling.
   */
  readonly warmUpRequests?: number | undefined;
  /** Further percentiles to report in `latencyPercentilesMs`, such as 99.9. */
  readonly percentiles?: readonly number[];
  /** Instances of the model. Each must have served a request before counting begins. */
  readonly instances?: number;
  /**
   * True if the model was loaded since the last measurement: every instance must execute before
   * counting begins.
   */
  readonly isFresh?: boolean;
  /**
   * How long the first answers after a load may take, in milliseconds, as the engine may have to be
   * built for them; `maxWarmUpMs` of the windows if absent, and then their lack is no error.
   */
  readonly firstAnswersMs?: number;
  /** The maximum number of requests in one execution, used to wake the instances; 1 if absent. */
  readonly requestsPerExecution?: number;
  /** The maximum number of requests in flight at any level; 256 if absent. */
  readonly maxInFlight?: number;
  readonly onProgress?: (progress: ProfileProgress) => void;
  readonly deviceProbe?: DeviceProbe;
  /** Reads the metrics page of a language model's engine. */
  readonly engineProbe?: EngineProbe | undefined;
  /** For request rates: when requests are due; evenly spaced if absent. */
  readonly scheduleAt?: (perSecond: number) => Schedule;
  /**
   * For request rates: wakes the sender. If absent, `clock` does, with an accuracy of a millisecond
   * or two in real time.
   */
  readonly alarm?: Alarm;
  /** For request rates: the cap on requests in flight, and the definition of a late request. */
  readonly openLoop?: Partial<OpenLoopRule>;
  /**
   * Does a fixed piece of work on the host and returns the time it took, in microseconds; for a
   * server on this host.
   */
  readonly hostWorkUs?: (() => number) | undefined;
  /** Watches the load generator; if absent, this process is watched. */
  readonly watchClient?: () => ClientWatch;
  /**
   * Requests per second that the client reaches against a server that does nothing; only called
   * when it matters.
   */
  readonly clientCeiling?: () => Promise<number | null>;
  /** Limits of a good reply of a language model. */
  readonly limits?: RequestLimits | undefined;
  /** The maximum number of failed requests; unlimited if absent. */
  readonly maxErrors?: number | undefined;
  /** Milliseconds to wait at the end for requests in flight. */
  readonly drainMs?: number;
  /**
   * The time of `clock`, in nanoseconds, at which measuring ends. The figures are then those so
   * far, and there may be none. Without it a measurement lasts as long as its rule says.
   */
  readonly untilNs?: number | undefined;
  /** Milliseconds after which the server counts as gone if every connection is refused or cut. */
  readonly unreachableMs?: number;
}
