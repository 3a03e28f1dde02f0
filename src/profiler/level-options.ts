import type { Alarm } from '../base/alarm.ts';
import type { Clock } from '../base/clock.ts';
import type { ClientWatch } from '../loadgen/client/cost.ts';
import type { Flow } from '../loadgen/flow.ts';
import type { OpenLoopRule } from '../loadgen/pacing/open-loop.ts';
import type { Schedule } from '../loadgen/pacing/pacers.ts';
import type { SendOrder } from '../loadgen/sender.ts';
import type { SequenceRule } from '../loadgen/sequences.ts';
import type { LoadLevel, RequestSet, Transport } from '../loadgen/types.ts';
import type { RequestLimits } from '../queueing/continuous/request-limits.ts';
import type { ServerStats } from '../triton/types.ts';
import type { DeviceProbe } from './devices/device-probe.ts';
import type { EngineProbe } from './devices/engine-metrics.ts';
import type { ProfileProgress } from './measurement.ts';

/** Lengths of windows and of the measurement. Windows get longer for slow models, within these bounds. */
export interface WindowRule {
  readonly minWindowMs: number;
  readonly maxWindowMs: number;
  /** No verdict before this number of windows, … */
  readonly minWindows: number;
  /** … and none after this number: the measurement then ends as unstable. */
  readonly maxWindows: number;
  /** Requests that a window should hold, within the bounds of its length. */
  readonly minRequests: number;
  /** Mean latencies that a window should last, within the bounds of its length: neighbouring shorter windows share their requests. */
  readonly minLatencies: number;
  readonly maxWarmUpMs: number;
  /** Windows that are measured again, at most, where what held the load generator up may have moved the percentile. */
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

/** When windows are enough, and which of them are the measurement. */
export type StabilityRule = IntervalRule | PassesRule | PerfAnalyzerRule | RequestCountRule;

/** Confidence intervals within `precision`, or a clear verdict on the budget; all windows stand for it. */
export interface IntervalRule {
  readonly kind: 'interval';
}

/**
 * Whole passes of a plan of arrivals, so that each of its phases counts for as long as it lasts; the rule for every plan where no other but that of
 * intervals is asked for.
 */
export interface PassesRule {
  readonly kind: 'passes';
  /** Absent: as many as last at least five seconds. */
  readonly passes?: number | undefined;
}

/**
 * perf_analyzer's rule: the last three windows lie within a percentage of each other in throughput and in latency, and
 * stand for the measurement. What is unstable or over the threshold is reported and marked.
 */
export interface PerfAnalyzerRule {
  readonly kind: 'perf-analyzer';
  readonly mode: 'time_windows' | 'count_windows';
  /** Length of a time window; it ends with the first completion after it. */
  readonly windowMs: number;
  /** Requests of a count window, at least; it also lasts half a second at least. */
  readonly requestCount: number;
  /** The largest of three windows may exceed the smallest by this, in per cent. */
  readonly stabilityPercent: number;
  /** Unstable after this number of windows. */
  readonly maxTrials: number;
  /** The latency that must be stable; the average when not given. */
  readonly percentile?: number | undefined;
  /** Milliseconds: with one of three latencies at or above this, no further window is measured. 0 or absent: no limit. */
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

/** A single window of exactly this number of requests, from the first one's sending to the last one's reply. */
export interface RequestCountRule {
  readonly kind: 'request-count';
  readonly requests: number;
}

export interface LevelOptions {
  readonly transport: Transport;
  /** Sends over other threads, with transports of their own; when not given, this thread sends over `transport`. */
  readonly openFlow?: ((order: SendOrder) => Flow) | undefined;
  readonly requests: RequestSet;
  /** For models that keep state between requests; without it every request stands alone. */
  readonly sequences?: SequenceRule | undefined;
  readonly level: LoadLevel;
  /** null for a server that has none. */
  readonly stats: ServerStats | null;
  /** Models whose statistics are read too: those that the model is made of or calls. */
  readonly composing?: readonly string[];
  /**
   * Requests that some of those get for each request, where that is certain: more than that are then others'. What the model's own requests
   * make elsewhere, or get from elsewhere, an uncertain number of, is null.
   */
  readonly timesPerRequest?: ReadonlyMap<string, number | null>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The percentile that the budget is about, such as 99. */
  readonly percentile: number;
  /** Stop when the 95 % intervals of throughput, and with a budget of the percentile too, are within ± this share. */
  readonly precision?: number;
  /**
   * A latency budget in milliseconds; when given, the measurement ends early once the percentile is clearly above it, or
   * clearly below it with the throughput precise.
   */
  readonly budgetMs?: number;
  readonly windows?: Partial<WindowRule>;
  /** By confidence intervals if absent. */
  readonly stability?: StabilityRule;
  /** Requests of the warm-up, exactly; absent: until latency has stopped falling. */
  readonly warmUpRequests?: number | undefined;
  /** Further percentiles to report in `latencyPercentilesMs`, such as 99.9. */
  readonly percentiles?: readonly number[];
  /** Instances of the model, each of which must have served before anything is counted. */
  readonly instances?: number;
  /** The model was loaded since the last measurement: every instance is made to execute before anything is counted. */
  readonly isFresh?: boolean;
  /** Requests that one execution can take, for that; 1 when not given. */
  readonly requestsPerExecution?: number;
  /** Requests in flight, at most, whatever the level; 256 when absent. */
  readonly maxInFlight?: number;
  readonly onProgress?: (progress: ProfileProgress) => void;
  readonly deviceProbe?: DeviceProbe;
  /** Reads the metrics page of a language model's engine. */
  readonly engineProbe?: EngineProbe | undefined;
  /** For request rates: when requests are due; evenly spaced when not given. */
  readonly scheduleAt?: (perSecond: number) => Schedule;
  /** For request rates: what wakes the sender. When not given, `clock` does, in real time good to a millisecond or two. */
  readonly alarm?: Alarm;
  /** For request rates: the cap of requests in flight, and what counts as late. */
  readonly openLoop?: Partial<OpenLoopRule>;
  /** Does the host's fixed piece of work and gives what it took, in microseconds; for a server on this host. */
  readonly hostWorkUs?: (() => number) | undefined;
  /** The watch on the load generator; on this process if absent. */
  readonly watchClient?: () => ClientWatch;
  /** Requests per second that the client reaches against a server that does nothing; asked for only when it matters. */
  readonly clientCeiling?: () => Promise<number | null>;
  /** Limits of a good reply of a language model. */
  readonly limits?: RequestLimits | undefined;
  /** Failed requests that the measurement tolerates; any number if absent. */
  readonly maxErrors?: number | undefined;
  /** Milliseconds to wait for requests in flight at the end. */
  readonly drainMs?: number;
  /** Milliseconds with every connection refused or cut after which the server counts as gone. */
  readonly unreachableMs?: number;
}
