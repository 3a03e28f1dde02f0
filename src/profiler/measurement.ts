import type { LoadLevel } from '../loadgen/types.ts';
import type { Interval } from '../stats/interval.ts';
import type { HttpReplies } from './http-replies.ts';
import type { LatencySummary } from './latencies.ts';
import type { EngineFigures, TokenFigures } from './token-figures.ts';

export type { LatencySummary };

/** The server's breakdown of the time of the same windows; per request, in microseconds. */
export interface ServerBreakdown {
  readonly queueUs: number;
  readonly computeInputUs: number;
  readonly computeInferUs: number;
  readonly computeOutputUs: number;
  /** The rest of the server's request time. */
  readonly overheadUs: number;
  /** The whole of a successful request inside the server. */
  readonly requestUs: number;
  readonly successCount: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly failCount: number;
  /** Requests that the response cache answered, and those that it could not, with the mean time of one. */
  readonly cache: {
    readonly hitCount: number;
    readonly hitUs: number;
    readonly missCount: number;
    readonly missUs: number;
  };
  /** Executions by batch size, with the mean time of one. */
  readonly batches: readonly { readonly size: number; readonly executions: number; readonly meanExecutionUs: number }[];
}

/** Means over the windows of what the metrics endpoint reports; a field is missing when the server does not report it. */
export interface DeviceMetrics {
  readonly gpuUtilizationPercent?: number;
  readonly gpuMemoryMiB?: number;
  readonly gpuPowerW?: number;
  readonly cpuUtilizationPercent?: number;
  /** The same for each GPU; absent where the server reports none. */
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
  /** From the time that each request was due to its reply; `latencyMs` is from its sending. */
  readonly scheduledLatencyMs: LatencySummary;
  /** Sent more than a millisecond after they were due, and not sent at all because too many were in flight. */
  readonly lateSends: number;
  readonly droppedSends: number;
  /** Median lateness of the sends in microseconds, at most. */
  readonly sendLatenessP50Us: number;
  /** Requests sent per second. */
  readonly achievedRate: number;
}

/** What the requests of one class saw. */
export interface ClassFigures {
  readonly name: string;
  /** Where the classes of several models were measured together. */
  readonly model?: string;
  /** Requests that ended, failed ones too. */
  readonly requests: number;
  /** Dropped ones among them. */
  readonly failures: number;
  /** Successful requests per second. */
  readonly throughput: Interval;
  /** Requests per second within all limits of the class; absent where it has none. */
  readonly goodput?: Interval;
  /** In an open loop from the time that each request was due. */
  readonly latencyMs: LatencySummary;
  /** The percentile that the budget is about; absent where none succeeded. */
  readonly budgetLatencyMs?: Interval & { readonly percentile: number };
}

/** Resources that the load generator used. */
export interface ClientFigures {
  /** CPU microseconds per request: what sending costs, or the whole process's where no thread's own is known (before Node 23.9). */
  readonly cpuUsPerRequest: number;
  /** CPU of the process beside the threads that send, over the windows: 1 is one core. Absent where that is not known. */
  readonly besideCpuShare?: number;
  /** Garbage collection in the threads that send, in the counted windows. Absent if that was not watched. */
  readonly gcMs?: number;
  /**
   * How far what held the sending threads up can have moved the budgeted percentile up, at most, in milliseconds. Absent where nobody
   * watched.
   */
  readonly tailShiftMs?: number;
  /** The same of a language model's inter-token latency. */
  readonly itlShiftMs?: number;
  /** The longest that the event loop kept a due timer waiting, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /** The client was the limit, not the server, for the reason given: the figures say nothing about the server. */
  readonly bound: boolean;
  readonly reason?: string;
  /** True where others had the CPU that the client lacked, which may pass. */
  readonly starved?: boolean;
  /** Each agent by itself, where agents on other machines sent. One of them that was the limit makes `bound` true. */
  readonly agents?: readonly AgentFigures[];
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
   * How far its time of day was ahead of this machine's when the windows began, how far it went further ahead until they ended, and how far
   * either may be off.
   */
  readonly clock: {
    readonly offsetMs: number;
    readonly uncertaintyMs: number;
    readonly driftMs: number;
    readonly driftUncertaintyMs: number;
  };
  /** CPU of its busiest thread: 1 is one core. */
  readonly cpuShare: number;
  /** The longest that an event loop of its threads kept a due timer waiting, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /** What became of the requests that it was to send, as in `openLoop`; absent in a closed loop. */
  readonly sends?: number;
  readonly lateSends?: number;
  readonly droppedSends?: number;
  readonly sendLatenessP50Us?: number;
  /** As of the whole client. */
  readonly bound: boolean;
  readonly reason?: string;
  readonly starved?: boolean;
}

/**
 * Where the time of a request goes on the client's side, in its order and without gaps: means over a sample of the successful requests, in
 * microseconds, as `ClientTimes` of the load generator defines them.
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
 * The figures of one candidate at one load level. Immutable. `stable` is false when the limit of windows was reached first: the figures are
 * still those measured.
 */
export interface Measurement {
  readonly level: LoadLevel;
  /**
   * infer/s of successful requests (request rate × client batch). In an open loop it is the share served of the requests
   * that were due, times the rate asked for, so that the luck of random arrivals is not in it.
   */
  readonly throughput: Interval;
  /** Requests per second that met all limits of their class; absent where there are no limits. */
  readonly goodput?: Interval;
  /** The share of the answered requests that failed or missed a limit of their class; absent where there are no limits. */
  readonly badShare?: Interval;
  /** What each request class saw; absent where there are no classes. */
  readonly classes?: readonly ClassFigures[];
  readonly latencyMs: LatencySummary;
  /** The percentiles that were asked for besides, by number, from the sending. */
  readonly latencyPercentilesMs?: Readonly<Record<string, number>>;
  /**
   * The percentile that the latency budget is about, with its interval, in milliseconds. In an open loop it is of the
   * latency from the time due: a stall counts for every request that was due in it.
   */
  readonly budgetLatencyMs: Interval & { readonly percentile: number };
  /**
   * The same percentile of the counted windows one by one: the lowest and the highest of them, in milliseconds. Absent where no request
   * succeeded.
   */
  readonly windowPercentilesMs?: Pick<Interval, 'low' | 'high'>;
  readonly stable: boolean;
  readonly windows: number;
  readonly durationMs: number;
  readonly requests: number;
  /** Responses to the requests of streams, empty final ones not counted; absent elsewhere. */
  readonly responses?: number;
  /** Sequences that ended; absent for models without them. */
  readonly sequences?: number;
  /** Requests sent per second in these windows. */
  readonly sendRate: number;
  /** Requests that were due and not sent are of kind `dropped`. */
  readonly failures: readonly FailureCount[];
  /** The measurement ended early because more requests failed than were to be borne. */
  readonly tooManyErrors?: true;
  /** Failed requests / all requests; dropped ones count as failed. */
  readonly errorRate: number;
  /** null when the server gave no usable statistics; `serverNote` says why. */
  readonly server: ServerBreakdown | null;
  readonly serverNote?: string;
  /** Statistics of the models that this one is composed of or calls, where they were asked for and served anything. */
  readonly composing?: readonly (ServerBreakdown & { readonly model: string; readonly version: string })[];
  /**
   * What the requests of each front saw, where a mix is sent to several models at once; absent for one front. The figures of the whole measurement
   * then are of all requests together, and the error rate is the highest of the fronts'.
   */
  readonly fronts?: readonly FrontMeasurement[];
  /** Requests that the server counted and this client did not send: someone else uses the model. Absent when none. */
  readonly foreignRequests?: number;
  /** The same by model, where several were looked at. */
  readonly foreignByModel?: Readonly<Record<string, number>>;
  /** The measurement ended early because the latency budget was clearly met or missed, if it was asked to. */
  readonly budgetVerdict?: 'met' | 'missed';
  /**
   * Windows that were not counted because the server executed a batch size in them for the first time, slowly (an engine or
   * a graph made for it). Absent when none.
   */
  readonly coldWindows?: number;
  /**
   * Windows that were not counted because what held the load generator up in them could have moved the budgeted percentile by
   * more than 5 %. Absent when none.
   */
  readonly voidWindows?: number;
  readonly device: DeviceMetrics;
  /**
   * How long a fixed piece of work took on this host beside the windows, in microseconds: its speed at that moment. Absent where the
   * server is on another machine.
   */
  readonly hostWorkUs?: number;
  readonly client: ClientFigures;
  /** Absent where the transport times no requests: those that read replies, to check or to keep them. */
  readonly clientTimes?: ClientTimesUs;
  /** Present for request rates. */
  readonly openLoop?: OpenLoopFigures;
  /** Present for plain HTTP. */
  readonly replies?: HttpReplies;
  /** Present for language models. */
  readonly tokens?: TokenFigures;
  /** Present where the metrics page of a language model's engine was read. */
  readonly engine?: EngineFigures;
  /**
   * The figures under each workload, in the study's order, where the study has several: those above are what its rule makes of them
   * (`workloads/robust-measurement.ts`).
   */
  readonly workloads?: readonly WorkloadMeasurement[];
}

/** The figures under one workload; its level is its own mean rate. */
export interface WorkloadMeasurement extends Omit<Measurement, 'workloads'> {
  readonly workload: string;
  /** How much it counts among the others, above 0. */
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
  /** Under which workload, where a level is measured under several in turn. */
  readonly workload?: string;
};

/** A window was dropped because something held the load generator up in it; `voidWindows` counts those so far. */
export interface VoidProgress {
  readonly phase: 'void';
  readonly voidWindows: number;
}

/** After a window: the figures so far, and those of this window alone. */
export interface WindowProgress {
  readonly phase: 'window';
  readonly window: number;
  readonly throughput: number;
  /** The budgeted percentile; of several fronts the highest of theirs. */
  readonly latencyMs: number;
  readonly own: OwnFigures;
  /** The same of each front, where there are several. */
  readonly fronts?: readonly { readonly model: string; readonly throughput: number; readonly latencyMs: number }[];
}

/** Figures of one window. */
export interface OwnFigures {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyAvgMs: number;
  readonly latencyStdMs: number;
  /** The percentile that the rule looks at, else the budgeted one. */
  readonly latencyPercentileMs: number;
  readonly requests: number;
  readonly durationMs: number;
}
