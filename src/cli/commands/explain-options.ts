import type { ScalingOptions } from '#app/emit-autoscaler.ts';
import type { ExplainOutputs } from '#app/explain/documents.ts';
import type { ExplainOptions } from '#app/explain/explain.ts';
import { headerOptionTable } from '../options/headers.ts';
import type { OptionTable } from '../options/option-table.ts';
import {
  collect,
  collectListed,
  durationSeconds,
  percent,
  percentile,
  positiveNumber,
} from '../options/option-values.ts';
import { scalingOptionTable } from '../options/scaling.ts';
import { tlsOptionTable } from '../options/tls.ts';
import { connectionOptionTable } from './tune/options.ts';

export interface ParsedExplainOptions extends ExplainOptions, ExplainOutputs, ScalingOptions {
  readonly ui: 'lines' | 'tui';
}

/** The metrics page is not read. */
const { metricsUrl: _, ...addressOptionTable } = connectionOptionTable;

export const explainOptionTable: OptionTable<ParsedExplainOptions> = {
  model: {
    flags: '-m, --model <name>',
    help: 'Explain this model; repeatable (default: every model with requests)',
    parse: collectListed,
  },
  for: { flags: '--for <duration>', help: 'How long to look (default: 2m)', parse: durationSeconds },
  latencyBudget: {
    flags: '--latency-budget <ms>',
    help: 'Highest latency allowed at the --percentile, in ms, without network and client',
    parse: positiveNumber,
  },
  percentile: { flags: '--percentile <p>', help: 'Latency percentile of the budget (default: 99)', parse: percentile },
  ui: {
    flags: '--ui <screen>',
    help: 'What to show: tui keeps looking, on the full screen, until you leave it or --for is over',
    choices: ['lines', 'tui'],
    default: 'lines',
  },
  json: { flags: '--json <file>', help: 'Write everything to this file as well' },
  output: {
    flags: '-o, --output <directory>',
    help: 'Directory for explain.json, report.html and, of one model, its traffic as workload.yaml',
  },
  save: { flags: '--save <dir>', help: 'Keep the readings in this directory, for --from' },
  from: {
    flags: '--from <dir>',
    help: 'Explain, without a server, readings that --save kept, or saved pages of metrics (*.prom) beside the configs of the models',
  },
  prometheus: {
    flags: '--prometheus <url>',
    help: "Explain the past by Prometheus' counters, such as http://prometheus:9090; the server is asked for configs only",
  },
  since: {
    flags: '--since <duration>',
    help: 'How far back Prometheus is asked (default: 1h)',
    parse: durationSeconds,
  },
  prometheusLabels: {
    flags: '--prometheus-labels <labels>',
    help: `Use only series with these labels, such as 'namespace="prod"'`,
  },
  traceFile: {
    flags: '--trace-file <file>',
    help: 'Take from this trace file of Triton when requests arrive, exactly; repeatable, for its parts',
    parse: collect,
  },
  ...scalingOptionTable,
  forRate: {
    flags: '--for-rate <rate>',
    help: 'Requests per second that the autoscaler is to serve in the busiest time',
    parse: positiveNumber,
    heading: 'Cost and replicas',
  },
  holdChance: {
    flags: '--hold-chance <percent>',
    help: 'Percentage of the requests for which the budget should hold, and certainty of the ceiling (default: 95)',
    parse: percent(1, 99.9),
    heading: 'Cost and replicas',
  },
  ...addressOptionTable,
  ...tlsOptionTable,
  ...headerOptionTable,
};
