import type { SweepRange } from '../../profiler/sweep.ts';
import type { RequestLimits } from '../../queueing/continuous/request-limits.ts';
import type { HeaderSpec, LaunchSpec, Protocol, RestoreFirstSpec, TlsSpec } from '../../spec/server-spec.ts';
import type { RequestDistribution } from '../../spec/study-spec.ts';
import type { ClientSpec, TransportSpec } from '../../spec/traffic-spec.ts';
import type { NumberRange } from '../../spec/tune-options.ts';
import type { RequestSpec } from '../../workload/request-spec.ts';

export interface RateRamp {
  readonly fromPerSecond: number;
  readonly toPerSecond: number;
  readonly overS: number;
}

export interface BurstSpec {
  readonly size: number;
  readonly periodMs: number;
}

/** Which load levels are measured, and how requests are spread in time. */
export interface LevelSpec {
  readonly concurrencyRange?: SweepRange;
  readonly requestRateRange?: SweepRange;
  readonly requestDistribution: RequestDistribution;
  readonly requestIntervals?: string;
  readonly arrivalTrace?: string;
  readonly traceSpeed: number;
  readonly fixedSchedule?: boolean;
  readonly ramp?: RateRamp;
  readonly burst?: BurstSpec;
  readonly binarySearch?: boolean;
  readonly latencyThreshold: number;
  readonly scenario?: 'offline' | 'online';
  /** The path of a workload file. */
  readonly workload?: string;
  /** Factor for the durations of the workload; its rates stay the same. */
  readonly timeScale?: number;
  readonly batchSizes?: readonly number[];
  /** Doubles each time if there is no step. */
  readonly concurrencies?: NumberRange & { readonly step?: number };
}

/** How a level is measured. */
export interface MeasuringSpec {
  readonly stability?: 'interval' | 'perf-analyzer';
  readonly precision: number;
  readonly measurementMode?: 'time_windows' | 'count_windows';
  readonly measurementInterval?: number;
  readonly measurementRequestCount?: number;
  readonly stabilityPercentage?: number;
  readonly maxTrials?: number;
  readonly percentile?: number;
  readonly requestCount?: number;
  /** The number of whole passes of a workload. */
  readonly passes?: number;
  readonly warmupRequestCount?: number;
  readonly requestTimeout: number;
  readonly seed: number;
}

/** The paths of the documents. */
export interface ProfileOutputs {
  readonly csv?: string;
  readonly verboseCsv?: boolean;
  readonly profileExportFile?: string;
  readonly json?: string;
  readonly ndjson?: string;
  readonly output?: string;
  /** NAME=VALUE, for the table of scenario parameters. */
  readonly label?: readonly string[];
  readonly collectMetrics?: boolean;
  readonly metricsUrl?: string;
  readonly verbose?: boolean;
}

/** The limits that a good request keeps. */
export interface GoodputLimits {
  readonly goodput?: RequestLimits;
}

/** How to ask a language model. */
export interface EndpointSpec {
  /** A kind of endpoint, `openai`, `auto`, or the path of an OpenAI call. */
  readonly endpoint?: string;
  /** Fields of every request, by name. */
  readonly extraInputs?: Readonly<Record<string, unknown>>;
}

/** How the server traces requests during a profile, named as perf_analyzer's options. */
export interface TraceSpec {
  readonly traceLevel?: 'OFF' | 'TIMESTAMPS' | 'TENSORS';
  readonly traceRate?: number;
  readonly traceCount?: number;
  readonly logFrequency?: number;
}

/** A profile: the model, the load levels, the requests, and the method of measuring. */
export interface ProfileSpec
  extends LevelSpec,
    MeasuringSpec,
    GoodputLimits,
    ProfileOutputs,
    RequestSpec,
    TransportSpec,
    ClientSpec,
    TlsSpec,
    HeaderSpec,
    Partial<LaunchSpec>,
    RestoreFirstSpec,
    TraceSpec {
  readonly model?: string;
  readonly modelVersion?: string;
  readonly url?: string;
  readonly protocol: Protocol;
  /** Only shown in the output; no request ever waits for another one. */
  readonly async?: boolean;
  /** Models that the model calls, as NAME:VERSION,…; their statistics are read too. */
  readonly blsComposingModels?: string;
}
