import type { JsonObject } from '../base/json.ts';
import type { PromptSpec } from '../workload/prompt-spec.ts';
import type { RequestSpec } from '../workload/request-spec.ts';
import type { HttpSpec } from './http-spec.ts';
import type { GoodputSpec, LanguageServerSpec } from './language-spec.ts';
import type { CostSpec, PriceList } from './price-spec.ts';
import type { AddressSpec, HeaderSpec, LaunchSpec, ProtectSpec, RestoreFirstSpec, TlsSpec } from './server-spec.ts';
import type { RequestDistribution, StabilityName } from './study-spec.ts';
import type { TogetherSpec } from './together-spec.ts';
import type { ClientSpec, TransportSpec } from './traffic-spec.ts';

export const serviceKinds = ['triton', 'openai', 'http'] as const;

export type ServiceKindName = (typeof serviceKinds)[number];

export interface NumberRange {
  readonly low: number;
  readonly high: number;
}

/** The settings of a study that only a Model Analyzer file has. */
export interface AnalyzerSettings {
  readonly file: string;
  /** Keys of the file that do not count; `key` is the path of the key. */
  readonly ignored: readonly IgnoredKey[];
  /** The search space, in the form of a tritune file. */
  readonly space: JsonObject;
  /** The load levels to measure, in rising order, if the file lists them. */
  readonly levels?: readonly number[];
  /** False: no candidate of a grid is left out because of others' results. */
  readonly earlyExits: boolean;
}

export interface IgnoredKey {
  readonly key: string;
  readonly reason: string;
}

/**
 * A study as one flat set of options, as the command line and the library's `tune()` take them. A
 * study works from a `StudySpec`; `specOf` makes one from these.
 */
export interface FlatStudyOptions
  extends Omit<AddressSpec, keyof TlsSpec | keyof HeaderSpec>,
    Partial<Omit<LaunchSpec, 'dockerImage'>>,
    Omit<RequestSpec, 'inputData' | 'shape' | 'requestParameter'>,
    TlsSpec,
    HeaderSpec,
    TransportSpec,
    ClientSpec,
    ProtectSpec,
    RestoreFirstSpec,
    LanguageServerSpec,
    HttpSpec,
    PromptSpec {
  readonly model?: string;
  /** The kind of the service; by default that of the other options. */
  readonly serviceKind?: ServiceKindName;
  /**
   * Models that share the server, `model` first, each with its own requests: they are tuned
   * together.
   */
  readonly together?: readonly string[];
  /** Their shares of the level, by model. */
  readonly mix?: TogetherSpec['mix'];
  /** BLS models by name, with the models that they call. */
  readonly blsComposing?: TogetherSpec['blsComposing'];
  /** The requests of single models that differ from those of all. */
  readonly modelRequests?: TogetherSpec['requests'];
  /** Milliseconds, by model. */
  readonly modelBudgets?: Readonly<Record<string, number>>;
  /** The path of a module with an adapter, for a server other than Triton. */
  readonly adapter?: string;
  readonly inputData?: readonly string[];
  readonly shape?: Readonly<Record<string, readonly number[]>>;
  readonly requestParameter?: RequestSpec['requestParameter'];
  readonly dockerImage: string;
  /** A preset, a file, or the definition of a space. */
  readonly space?: string | JsonObject;
  /** The limits of a good reply of a language model. */
  readonly goodput?: GoodputSpec;
  /** Milliseconds. */
  readonly latencyBudget?: number;
  readonly percentile: number;
  readonly constraint?: readonly string[];
  readonly objective?: readonly string[];
  /** A file with prices, or its content. */
  readonly prices?: string | PriceList;
  /** A GPU of the prices, or GPU/SLICE. */
  readonly gpu?: string;
  readonly serverGpus?: number;
  /** An instance type of the prices. */
  readonly instanceType?: string;
  /** Inferences per second: in total, or by model. */
  readonly forRate?: CostSpec['forRate'];
  /** Per cent. */
  readonly headroom?: number;
  /** Per cent. */
  readonly holdChance?: number;
  readonly sampler?: string;
  /** A file with a list of assignments, for the manual sampler. */
  readonly candidates?: string;
  readonly seed: number;
  /** Per cent. */
  readonly leastGain?: number;
  readonly maxTrials?: number;
  /** Seconds. */
  readonly timeBudget?: number;
  readonly concurrency?: NumberRange;
  /** Samples in one request. */
  readonly batchSize?: NumberRange;
  /** The most samples that clients send in one request. */
  readonly clientBatch?: number;
  /** Seconds. */
  readonly requestTimeout?: number;
  readonly requestRate?: NumberRange;
  readonly requestDistribution: RequestDistribution;
  /** Workload files. */
  readonly workload?: readonly string[];
  /** In the order of the files. */
  readonly workloadWeights?: readonly number[];
  /** How figures under several workloads are combined: worst, mean, or quantile:SHARE. */
  readonly robust?: string;
  /** A factor on the durations of the workloads. */
  readonly timeScale?: number;
  /** The share of each trace that only the final sees. */
  readonly workloadHoldout?: number;
  /** Per cent. */
  readonly precision: number;
  readonly stability: StabilityName;
  readonly allowForeignTraffic: boolean;
  /** The largest deviation of an output from the expected one, absolute and relative. */
  readonly atol?: number;
  readonly rtol?: number;
  /** The share of output values, 0 to 1, that may deviate more. */
  readonly outsideShare?: number;
  readonly restore: 'config' | 'reload';
  /** Seconds. */
  readonly loadTimeout?: number;
  /** Seconds. */
  readonly maxOutage?: number;
  readonly trace?: boolean;
  readonly output?: string;
  readonly modelAnalyzer?: AnalyzerSettings;
}

/** The options of a recording, in addition to those of a study. */
export interface RecordingOptions {
  /** The file to write. */
  readonly grid: string;
  readonly levelValues: readonly number[];
  readonly repeats: number;
  /** Milliseconds. */
  readonly latencyLimit?: number;
  /** Seconds. */
  readonly window?: number;
  readonly windows?: number;
}
