import { type ClientFlags, clientOptionTable } from './client-options.ts';
import type { AnalyzerSettings } from './model-analyzer/schema.ts';
import type { OptionTable } from './option-table.ts';
import {
  collect,
  durationSeconds,
  type NumberRange,
  percentile,
  positiveNumber,
  positiveRange,
  positiveWhole,
  wholeNumber,
  wholeRange,
} from './option-values.ts';
import { type ProtectFlags, protectOptionTable } from './protect.ts';
import { type RequestOptions, requestOptionTable } from './request-options.ts';
import { type TlsFlags, tlsOptionTable } from './tls-options.ts';
import { type TransportFlags, transportOptionTable } from './transport-options.ts';

/** The samplers that `--sampler` takes, and the screens that `--ui` takes. */
export const samplerNames = ['queueing', 'random', 'grid', 'hill-climb', 'tpe', 'nsga2', 'manual'] as const;
export const uiNames = ['auto', 'tui', 'lines', 'json', 'none'] as const;

export const requestDistributions = ['constant', 'poisson'] as const;

export const stabilityNames = ['interval', 'perf-analyzer'] as const;

export type StabilityName = (typeof stabilityNames)[number];
export type RequestDistribution = (typeof requestDistributions)[number];
export type SamplerName = (typeof samplerNames)[number];
export type UiName = (typeof uiNames)[number];
export type Protocol = 'grpc' | 'http';

/** The options of `tritune tune`, parsed. */
export interface TuneOptions extends RequestOptions, TlsFlags, TransportFlags, ClientFlags, ProtectFlags {
  readonly model?: string;
  readonly url?: string;
  readonly protocol: Protocol;
  readonly controlUrl?: string;
  readonly metricsUrl?: string;
  readonly launch?: string;
  readonly modelRepository?: string;
  readonly tritonserver?: string;
  readonly dockerImage: string;
  readonly dockerGpus?: string;
  readonly space?: string;
  readonly latencyBudget?: number;
  readonly percentile: number;
  readonly constraint?: readonly string[];
  readonly objective?: readonly string[];
  readonly sampler: SamplerName;
  readonly candidates?: string;
  readonly seed: number;
  /** Per cent. */
  readonly leastGain?: number;
  readonly maxTrials?: number;
  readonly timeBudget?: number;
  readonly concurrency?: NumberRange;
  readonly requestRate?: NumberRange;
  readonly requestDistribution: RequestDistribution;
  readonly precision: number;
  readonly stability: StabilityName;
  readonly allowForeignTraffic: boolean;
  readonly restore: 'config' | 'reload';
  readonly loadTimeout?: number;
  readonly maxOutage?: number;
  readonly ui: UiName;
  readonly trace?: boolean;
  readonly output?: string;
  readonly resume?: string;
  readonly dryRun: boolean;
  readonly verbose: boolean;
  /** Of a run that a file of Model Analyzer's asked for; no option of the command line. */
  readonly modelAnalyzer?: AnalyzerSettings;
}

export const tuneOptionTable: OptionTable<Omit<TuneOptions, 'modelAnalyzer'>> = {
  model: { flags: '-m, --model <name>', help: 'the model to tune' },
  url: {
    flags: '-u, --url <host:port>',
    help: 'the server (default: localhost:8001 for grpc, localhost:8000 for http)',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'how the traffic goes',
    choices: ['grpc', 'http'],
    default: 'grpc',
  },
  controlUrl: {
    flags: '--control-url <host:port>',
    help: "gRPC port for the control calls when the traffic is HTTP (default: port 8001 beside HTTP's 8000; else control goes over HTTP too)",
  },
  metricsUrl: { flags: '--metrics-url <url>', help: 'Prometheus metrics (default: http://HOST:8002/metrics)' },
  ...tlsOptionTable,
  ...transportOptionTable,
  launch: {
    flags: '--launch <what>',
    help: 'start a server for the run: emulator[:PROFILE], twin:RUN_DIRECTORY (the emulator, as the server of that run), local or docker (these two need --model-repository)',
  },
  modelRepository: { flags: '--model-repository <directory>', help: 'the model repository for --launch local|docker' },
  tritonserver: {
    flags: '--tritonserver <path>',
    help: 'binary for --launch local (default: the one of install-triton)',
  },
  dockerImage: {
    flags: '--docker-image <image>',
    help: 'image for --launch docker',
    default: 'nvcr.io/nvidia/tritonserver:24.10-py3',
  },
  dockerGpus: {
    flags: '--docker-gpus <gpus>',
    help: 'GPUs for --launch docker, as docker run --gpus takes them, or none (default: all)',
  },
  space: {
    flags: '--space <file|preset>',
    help: "the search space (default: the preset of the model's backend)",
  },
  latencyBudget: { flags: '--latency-budget <ms>', help: 'budget on the percentile', parse: positiveNumber },
  percentile: {
    flags: '--percentile <p>',
    help: 'the percentile that the budget is about',
    parse: percentile,
    default: 99,
  },
  constraint: {
    flags: '--constraint <metric<=value>',
    help: "repeatable, for example 'gpu-memory<=8000'",
    parse: collect,
  },
  objective: {
    flags: '--objective <name[:weight]>',
    help: 'what to improve (default: throughput); repeatable',
    parse: collect,
  },
  sampler: {
    flags: '--sampler <name>',
    help: 'how candidates are chosen: queueing simulates them all and stops by itself; manual takes a list',
    choices: samplerNames,
    default: 'queueing',
  },
  candidates: { flags: '--candidates <file>', help: 'for --sampler manual: a list of assignments, YAML or JSON' },
  seed: { flags: '--seed <n>', help: 'seed of everything random', parse: wholeNumber, default: 1 },
  leastGain: {
    flags: '--least-gain <percent>',
    help: 'with the queueing sampler: stop when another trial is expected to gain less (default: 20 by the number of trials so far, at least 1)',
    parse: positiveNumber,
  },
  maxTrials: { flags: '--max-trials <n>', help: 'stop after so many candidates', parse: positiveWhole },
  timeBudget: { flags: '--time-budget <duration>', help: 'stop after 90s, 10m, 2h …', parse: durationSeconds },
  concurrency: {
    flags: '--concurrency <low:high>',
    help: 'range of requests in flight to consider (default: 1:256)',
    parse: wholeRange,
  },
  requestRate: {
    flags: '--request-rate <low:high>',
    help: 'range of requests per second to consider, sent whatever the replies do, instead of --concurrency',
    parse: positiveRange,
  },
  requestDistribution: {
    flags: '--request-distribution <name>',
    help: 'how the requests of a rate arrive: evenly spaced, or at random (a Poisson process)',
    choices: requestDistributions,
    default: 'constant',
  },
  precision: {
    flags: '--precision <percent>',
    help: 'measure until the 95 % intervals are within ± so much',
    parse: positiveNumber,
    default: 3,
  },
  stability: {
    flags: '--stability <rule>',
    help: "when a level has been measured enough: by its intervals, or by perf_analyzer's rule (three windows of 5 s within 10 %)",
    choices: stabilityNames,
    default: 'interval',
  },
  allowForeignTraffic: {
    flags: '--allow-foreign-traffic',
    help: 'go on although others send requests to the model; their share is in the figures',
    default: false,
  },
  ...requestOptionTable,
  ...clientOptionTable,
  restore: {
    flags: '--restore <how>',
    help: 'put the model back by its config (no outage) or by a reload from the repository',
    choices: ['config', 'reload'],
    default: 'config',
  },
  loadTimeout: {
    flags: '--load-timeout <duration>',
    help: 'how long one load of the model may take (default: 10m)',
    parse: durationSeconds,
  },
  maxOutage: {
    flags: '--max-outage <duration>',
    help: 'how long the server may be away before the run ends (default: 20s)',
    parse: durationSeconds,
  },
  ...protectOptionTable,
  ui: {
    flags: '--ui <screen>',
    help: 'what to show; auto is tui on a terminal, and lines elsewhere',
    choices: uiNames,
    default: 'auto',
  },
  trace: {
    flags: '--trace',
    help: 'at the end, have the server trace the best for a while (it needs a trace file; --launch local|docker give it one)',
  },
  output: { flags: '-o, --output <directory>', help: 'where results go (default: tritune-runs/MODEL-TIMESTAMP)' },
  resume: { flags: '--resume <directory>', help: 'continue the study in this directory' },
  dryRun: {
    flags: '--dry-run',
    help: 'say what would be done and how long it would take; change nothing',
    default: false,
  },
  verbose: { flags: '--verbose', help: 'stack traces with errors', default: false },
};
