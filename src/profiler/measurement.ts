import type { LoadLevel } from '../loadgen/types.ts';
import type { Interval } from '../stats/interval.ts';
import type { HttpReplies } from './http-replies.ts';
import type { LatencySummary } from './latencies.ts';
import type { EngineFigures, TokenFigures } from './token-figures.ts';

export type { LatencySummary };

/** The server's statistics of the same windows: mean times per request, in microseconds. */
export interface ServerBreakdown {
  readonly queueUs: number;
  readonly computeInputUs: number;
  readonly computeInferUs: number;
  readonly computeOutputUs: number;
  /** The rest of the server's request time. */
  readonly overheadUs: number;
  /** Total time of a successful request inside the server. */
  readonly requestUs: number;
  readonly successCount: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly failCount: number;
  /** Hits and misses of the response cache, with the mean time of each. */
  readonly cache: {
    readonly hitCount: number;
    readonly hitUs: number;
    readonly missCount: number;
    readonly missUs: number;
  };
  /** Executions by batch size, with the mean time of one. */
  readonly batches: readonly { readonly size: number; readonly executions: number; readonly meanExecutionUs: number }[];
}

/**
 * Means over the windows of figures from the metrics endpoint; a field is absent if the server does
 * not report it.
 */
export interface DeviceMetrics {
  readonly gpuUtilizationPercent?: number;
  readonly gpuMemoryMiB?: number;
  readonly gpuPowerW?: number;
  readonly cpuUtilizationPercent?: number;
  /** Figures of each GPU; absent if the server reports none. */
  readonly gpus?: readonly GpuMetrics[];
}

/** One GPU: means of utilisation, power and clock, and the largest memory in use. */
export interface GpuMetrics {
  readonly uuid: string;
  readonly utilizationPercent?: number;
  readonly powerW?: number;
  /** Clock of its multiprocessors in MHz, from nvidia-smi. */
  readonly clockMhz?: number;
  readonly memoryBytes?: number;
  readonly memoryTotalBytes?: number;
}

export interface FailureCount {
  readonly kind: string;
  readonly count: number;
  readonly firstMessage: string;
}

/** Further figures of an open loop. */
export interface OpenLoopFigures {
  /** From when each request was due to its reply; `latencyMs` counts from its sending. */
  readonly scheduledLatencyMs: LatencySummary;
  /**
   * Requests sent more than a millisecond late, and requests not sent because too many were in
   * flight.
   */
  readonly lateSends: number;
  readonly droppedSends: number;
  /** Upper bound of the median lateness of sends, in microseconds. */
  readonly sendLatenessP50Us: number;
  /** Requests sent per second. */
  readonly achievedRate: number;
  /** The counted times since the schedule began; absent if several schedules were played. */
  readonly countedMs?: readonly CountedTimeMs[];
}

/**
 * A time in which completed requests were counted, from (exclusive) and to (inclusive) a
 * completion.
 */
export interface CountedTimeMs {
  readonly from: number;
  readonly to: number;
}

/** Figures of one request class. */
export interface ClassFigures {
  readonly name: string;
  /** Its model, if the classes of several models were measured together. */
  readonly model?: string;
  /** Requests that ended, including failed ones. */
  readonly requests: number;
  /** Failed requests, including dropped ones. */
  readonly failures: number;
  /** Successful requests per second. */
  readonly throughput: Interval;
  /** Requests per second within all limits of the class; absent without limits. */
  readonly goodput?: Interval;
  /** Counts from when each request was due in an open loop. */
  readonly latencyMs: LatencySummary;
  /** The budgeted percentile; absent if no request succeeded. */
  readonly budgetLatencyMs?: Interval & { readonly percentile: number };
}

/** Resources that the load generator used. */
export interface ClientFigures {
  /**
   * CPU microseconds per request, of the sending threads; of the whole process before Node 23.9.
   */
  readonly cpuUsPerRequest: number;
  /**
   * CPU of the process except the sending threads, over the windows: 1 is one core. Absent if
   * unknown.
   */
  readonly besideCpuShare?: number;
  /**
   * Garbage collection in the sending threads, in the counted windows. Absent if that was not
   * watched.
   */
  readonly gcMs?: number;
  /**
   * Upper bound, in milliseconds, of how far pauses of the sending threads moved the budgeted
   * percentile up. Absent if that was not watched.
   */
  readonly tailShiftMs?: number;
  /** The same for a language model's inter-token latency. */
  readonly itlShiftMs?: number;
  /** The longest delay of a due timer by the event loop, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /**
   * True if the client was the limit, for `reason`. The figures then do not describe the server.
   */
  readonly bound: boolean;
  readonly reason?: string;
  /** True if other processes had the CPU that the client lacked, which may be temporary. */
  readonly starved?: boolean;
  /** Who kept an open loop from its rate, and why; absent if the rate was held. */
  readonly unheldRate?: UnheldRate;
  /**
   * Figures of each agent, if agents on other machines sent. `bound` is true if one of them was the
   * limit.
   */
  readonly agents?: readonly AgentFigures[];
}

/** Why many requests of a schedule were sent late or not at all. */
export interface UnheldRate {
  readonly by: 'client' | 'server' | 'machine';
  readonly reason: string;
}

/** One agent that sent its part of the requests. */
export interface AgentFigures {
  /** HOST:PORT */
  readonly address: string;
  /** Version of tritune. */
  readonly version: string;
  /** Cores that it may use, and threads that sent. */
  readonly cores: number;
  readonly threads: number;
  /**
   * Its clock offset relative to this machine at the start of the windows, the drift until their
   * end, and the uncertainty of either.
   */
  readonly clock: {
    readonly offsetMs: number;
    readonly uncertaintyMs: number;
    readonly driftMs: number;
    readonly driftUncertaintyMs: number;
  };
  /** CPU of its busiest thread: 1 is one core. */
  readonly cpuShare: number;
  /** The longest delay of a due timer by an event loop of its threads, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /** Counts of the requests that it had to send, as in `openLoop`; absent in a closed loop. */
  readonly sends?: number;
  readonly lateSends?: number;
  readonly droppedSends?: number;
  readonly sendLatenessP50Us?: number;
  /** As for the whole client. */
  readonly bound: boolean;
  readonly reason?: string;
  readonly starved?: boolean;
}

/**
 * The consecutive parts of a request's time on the client's side: means over a sample of the
 * successful requests, in microseconds, as defined by `ClientTimes` of the load generator.
 */
export interface ClientTimesUs {
  /** Requests in the sample. */
  readonly requests: number;
  readonly marshalUs: number;
  readonly sendUs: number;
  readonly waitUs: number;
  readonly receiveUs: number;
  readonly unmarshalUs: number;
}

/**
 * The figures of one candidate at one load level. Immutable. `stable` is false if the maximum
 * number of windows was reached; the figures are still as measured.
 */
export interface Measurement {
  readonly level: LoadLevel;
  /**
   * infer/s of successful requests (request rate × client batch). In an open loop it is the served
   * share of the due requests times the requested rate, so that random arrivals add no variation.
   */
  readonly throughput: Interval;
  /** Requests per second that met all limits of their class; absent without limits. */
  readonly goodput?: Interval;
  /**
   * Share of the answered requests that failed or missed a limit of their class; absent without
   * limits.
   */
  readonly badShare?: Interval;
  /** Figures of each request class; absent without classes. */
  readonly classes?: readonly ClassFigures[];
  readonly latencyMs: LatencySummary;
  /** Further requested percentiles, by number, from the sending. */
  readonly latencyPercentilesMs?: Readonly<Record<string, number>>;
  /**
   * The budgeted percentile with its interval, in milliseconds. In an open loop latency counts from
   * the due time: a stall counts for every request that was due in it.
   */
  readonly budgetLatencyMs: Interval & { readonly percentile: number };
  /**
   * The lowest and highest of the same percentile over the counted windows, in milliseconds. Absent
   * if no request succeeded.
   */
  readonly windowPercentilesMs?: Pick<Interval, 'low' | 'high'>;
  readonly stable: boolean;
  readonly windows: number;
  readonly durationMs: number;
  readonly requests: number;
  /** Responses to requests of streams, without empty final ones; absent otherwise. */
  readonly responses?: number;
  /** Sequences that ended; absent for models without them. */
  readonly sequences?: number;
  /** Requests sent per second in these windows. */
  readonly sendRate: number;
  /** Failures by kind. Requests that were due but not sent have the kind `dropped`. */
  readonly failures: readonly FailureCount[];
  /** The measurement ended early because too many requests failed. */
  readonly tooManyErrors?: true;
  /** Failed requests / all requests; dropped ones count as failed. */
  readonly errorRate: number;
  /** null without usable statistics of the server; `serverNote` says why. */
  readonly server: ServerBreakdown | null;
  readonly serverNote?: string;
  /**
   * Statistics of the models that this one consists of or calls, if they were requested and served
   * anything.
   */
  readonly composing?: readonly (ServerBreakdown & { readonly model: string; readonly version: string })[];
  /**
   * Figures of each front, if a mix is sent to several models; absent for one front. The figures of
   * the whole measurement then cover all requests, and its error rate is the highest of the
   * fronts'.
   */
  readonly fronts?: readonly FrontMeasurement[];
  /**
   * Requests that the server counted and this client did not send: another client uses the model.
   * Absent if none.
   */
  readonly foreignRequests?: number;
  /** The same by model, if several were checked. */
  readonly foreignByModel?: Readonly<Record<string, number>>;
  /** Set if the measurement ended early because the latency budget was clearly met or missed. */
  readonly budgetVerdict?: 'met' | 'missed';
  /**
   * Windows that were not counted because the server executed a batch size for the first time,
   * slowly (it built an engine or a graph). Absent if none.
   */
  readonly coldWindows?: number;
  /**
   * Windows that were not counted because pauses of the load generator may have moved the budgeted
   * percentile by more than 5 %. Absent if none.
   */
  readonly voidWindows?: number;
  readonly device: DeviceMetrics;
  /**
   * Time of a fixed piece of work on this host beside the windows, in microseconds, which shows its
   * speed. Absent if the server is on another machine.
   */
  readonly hostWorkUs?: number;
  readonly client: ClientFigures;
  /**
   * Absent if the transport does not time requests, because it reads replies to check or keep them.
   */
  readonly clientTimes?: ClientTimesUs;
  /** Present for request rates. */
  readonly openLoop?: OpenLoopFigures;
  /** Present for plain HTTP. */
  readonly replies?: HttpReplies;
  /** Present for language models. */
  readonly tokens?: TokenFigures;
  /** Present if the metrics page of a language model's engine was read. */
  readonly engine?: EngineFigures;
  /**
   * The figures under each workload, in the study's order, if it has several. The figures above are
   * combined from these by its rule (`workloads/robust-measurement.ts`).
   */
  readonly workloads?: readonly WorkloadMeasurement[];
}

/** The figures under one workload; its level is its own mean rate. */
export interface WorkloadMeasurement extends Omit<Measurement, 'workloads'> {
  readonly workload: string;
  /** Its weight relative to the others, above 0. */
  readonly weight: number;
}

/** The figures of one model of a mix, at its part of the level. */
export interface FrontMeasurement
  extends Pick<
    Measurement,
    | 'level'
    | 'throughput'
    | 'goodput'
    | 'latencyMs'
    | 'budgetLatencyMs'
    | 'stable'
    | 'durationMs'
    | 'requests'
    | 'sendRate'
    | 'failures'
    | 'errorRate'
    | 'server'
    | 'serverNote'
    | 'composing'
    | 'foreignRequests'
    | 'openLoop'
  > {
  readonly model: string;
}

/** The profiler's progress, for observers. */
export type ProfileProgress = ({ readonly phase: 'warm-up' } | WindowProgress | VoidProgress) & {
  /** The workload, if a level is measured under several in turn. */
  readonly workload?: string;
};

/**
 * A window was dropped because of a pause of the load generator; `voidWindows` counts the dropped
 * ones so far.
 */
export interface VoidProgress {
  readonly phase: 'void';
  readonly voidWindows: number;
}

/** After a window: the figures so far, and those of this window. */
export interface WindowProgress {
  readonly phase: 'window';
  readonly window: number;
  readonly throughput: number;
  /** The budgeted percentile; for several fronts the highest. */
  readonly latencyMs: number;
  readonly own: OwnWindowFigures;
  /** The same for each front, if there are several. */
  readonly fronts?: readonly { readonly model: string; readonly throughput: number; readonly latencyMs: number }[];
}

/** Figures of one window. */
export interface OwnWindowFigures {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyAvgMs: number;
  readonly latencyStdMs: number;
  /** The percentile of the stopping rule, or else the budgeted one. */
  readonly latencyPercentileMs: number;
  readonly requests: number;
  readonly durationMs: number;
}
