import { checkSamplerName } from '../../../app/study/find-sampler.ts';
import { protocols, restoreWays } from '../../../spec/server-spec.ts';
import { requestDistributions, stabilityRules } from '../../../spec/study-spec.ts';
import type { TuneOptions } from '../../../spec/tune-options.ts';
import { constraintHelp } from '../../../study/goal/goal-text.ts';
import { builtInMetrics } from '../../../study/goal/metrics/registry.ts';
import { samplerNames } from '../../../study/search/samplers/registry.ts';
import { robustRuleOf } from '../../../workload/robust-rule.ts';
import { clientOptionTable } from '../../options/client.ts';
import { costOptionTable } from '../../options/cost.ts';
import { languageOptionTable } from '../../options/language.ts';
import { launchOptionTable } from '../../options/launch.ts';
import type { OptionTable } from '../../options/option-table.ts';
import {
  collect,
  durationSeconds,
  percentile,
  positiveNumber,
  positiveNumbers,
  positiveRange,
  positiveWhole,
  share,
  wholeNumber,
  wholeRange,
} from '../../options/option-values.ts';
import { protectOptionTable } from '../../options/protect.ts';
import { requestOptionTable } from '../../options/requests.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { transportOptionTable } from '../../options/transport.ts';
import { promptOptionTable } from '../profile/prompt-options.ts';

/** The screens that `--ui` takes. */
export const uiNames = ['auto', 'tui', 'lines', 'json', 'none'] as const;

export type UiName = (typeof uiNames)[number];

/** The options of `tritune tune` for one model, parsed: those of a study, and what only a command line has. */
export interface TuneFlags
  extends Omit<TuneOptions, 'together' | 'mix' | 'blsComposing' | 'modelRequests' | 'modelBudgets'> {
  readonly ui: UiName;
  readonly resume?: string;
  /** A file with the study. */
  readonly spec?: string;
  readonly printSpec: boolean;
  readonly dryRun: boolean;
  readonly verbose: boolean;
}

export const tuneOptionTable: OptionTable<Omit<TuneFlags, 'modelAnalyzer'>> = {
  model: { flags: '-m, --model <name>', help: 'the model to tune' },
  adapter: {
    flags: '--adapter <file>',
    help: 'a module with an adapter, for a server that is no Triton; -m then names what it serves (docs/extending.md)',
  },
  url: {
    flags: '-u, --url <host:port>',
    help: 'the server (default: localhost:8001 for grpc, localhost:8000 for http)',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'how the traffic goes',
    choices: protocols,
    default: 'grpc',
  },
  controlUrl: {
    flags: '--control-url <host:port>',
    help: "gRPC port for the control calls when the traffic is HTTP (default: port 8001 beside HTTP's 8000; else control goes over HTTP too)",
  },
  metricsUrl: { flags: '--metrics-url <url>', help: 'Prometheus metrics (default: http://HOST:8002/metrics)' },
  ...tlsOptionTable,
  ...transportOptionTable,
  ...launchOptionTable,
  ...languageOptionTable,
  ...promptOptionTable,
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
    help: constraintHelp(builtInMetrics),
    parse: collect,
  },
  objective: {
    flags: '--objective <name[:weight]>',
    help: 'what to improve, a metric as in --constraint, or cost: the least for --for-rate, without it for a million inferences or tokens (default: throughput; with --for-rate cost); repeatable',
    parse: collect,
  },
  ...costOptionTable,
  sampler: {
    flags: '--sampler <name|file>',
    help: `how candidates are chosen: ${samplerNames.join(', ')}, or a module with a sampler of your own (docs/extending.md); queueing, the default, simulates Triton's batcher and stops by itself; tpe is the default with --adapter; manual takes a list`,
    parse: samplerName,
    offers: samplerNames,
  },
  candidates: { flags: '--candidates <file>', help: 'for --sampler manual: a list of assignments, YAML or JSON' },
  seed: { flags: '--seed <n>', help: 'seed of everything random', parse: wholeNumber, default: 1 },
  leastGain: {
    flags: '--least-gain <percent>',
    help: 'with the queueing sampler: stop when another trial is expected to gain less (default: 25 divided by the trials so far, at least 1)',
    parse: positiveNumber,
  },
  maxTrials: { flags: '--max-trials <n>', help: 'stop after so many candidates', parse: positiveWhole },
  timeBudget: { flags: '--time-budget <duration>', help: 'stop after 90s, 10m, 2h …', parse: durationSeconds },
  concurrency: {
    flags: '--concurrency <low:high>',
    help: 'range of requests in flight to consider (default: from 1 to twice the largest batches of all instances, 256 to 4096)',
    parse: wholeRange,
  },
  batchSize: {
    flags: '--batch-size <low:high>',
    help: 'range of samples in one request to consider, in place of --batch; with --concurrency 1 it finds the best batch for one client',
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
  workload: {
    flags: '--workload <file>',
    help: 'workload file to tune for, played over and over: the levels are its mean requests per second, from a quarter of it to four times (or --request-rate); repeatable (docs/robust.md)',
    parse: collect,
  },
  workloadWeights: {
    flags: '--workload-weights <list>',
    help: 'how much each --workload counts, such as 3,1 (default: all alike)',
    parse: positiveNumbers,
  },
  robust: {
    flags: '--robust <rule>',
    help: 'how figures under several workloads become one: worst, mean, or quantile:SHARE, the figure that workloads with that share of the weight have or better (default: worst)',
    parse: robustRule,
  },
  timeScale: {
    flags: '--time-scale <factor>',
    help: 'durations of each --workload times this, with its rates as they are (default: passes that are longer become 30 s)',
    parse: positiveNumber,
  },
  workloadHoldout: {
    flags: '--workload-holdout <share>',
    help: 'the share of each trace of a --workload that the search does not see, such as 0.3: the final judges the pick by it; what is made up is drawn anew',
    parse: share,
  },
  atol: {
    flags: '--atol <x>',
    help: 'outputs may differ from the expected ones of --input-data by this (default: 0); looked at before a candidate is measured',
    parse: positiveNumber,
  },
  rtol: {
    flags: '--rtol <x>',
    help: 'and by this times the expected value more (default: 0)',
    parse: positiveNumber,
  },
  outsideShare: {
    flags: '--outside-share <share>',
    help: 'the share of output values that may differ by more (default: 0)',
    parse: share,
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
    choices: stabilityRules,
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
    choices: restoreWays,
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
  spec: {
    flags: '--spec <file>',
    help: 'a YAML or JSON file with the study; other options come before it (docs/study-spec.md)',
  },
  printSpec: { flags: '--print-spec', help: 'print the study as such a file, and do nothing else', default: false },
  dryRun: {
    flags: '--dry-run',
    help: 'say what would be done and how long it would take; change nothing',
    default: false,
  },
  verbose: { flags: '--verbose', help: 'stack traces with errors', default: false },
};

/** Errors: USAGE for what is no rule. */
function robustRule(text: string): string {
  robustRuleOf(text);
  return text;
}

/** Errors: USAGE for what is no sampler. */
function samplerName(text: string): string {
  checkSamplerName(text);
  return text;
}
