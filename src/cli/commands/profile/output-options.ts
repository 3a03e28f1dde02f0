import type { ProfileOutputs } from '#spec/profile-spec.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { otlpOption } from '../../options/otlp.ts';

export const outputOptionTable: OptionTable<ProfileOutputs> = under<ProfileOutputs>('Output', {
  csv: { flags: '-f, --csv <file>', help: "Write a CSV file with perf_analyzer's columns" },
  verboseCsv: {
    flags: '--verbose-csv',
    help: 'Add the average latency, the wait for the response and GPU metrics to the CSV file',
  },
  profileExportFile: {
    flags: '--profile-export-file <file>',
    help: 'Write the times of every request as JSON; the file must not exist',
  },
  json: { flags: '--json <file>', help: 'Write all figures as JSON' },
  ndjson: { flags: '--ndjson <file>', help: 'Write a line of JSON for each window and level while measuring' },
  otlp: otlpOption,
  plots: { flags: '--plots <directory>', help: 'Draw throughput over latency, and the parts of latency at each level' },
  output: { flags: '-o, --output <directory>', help: 'Directory for the tables and plots of --scenario' },
  label: {
    flags: '--label <name=value>',
    help: 'Row for the parameter table of --scenario, such as GPU=A30; repeatable',
  },
  collectMetrics: { flags: '--collect-metrics', help: "Report the server's GPU metrics" },
  metricsUrl: {
    flags: '--metrics-url <url>',
    help: "Address of the server's Prometheus metrics (default: at the port after gRPC's, or at 8002)",
    heading: 'Connection',
  },
  verbose: { flags: '-v, --verbose', help: 'Print a line for each window, and stack traces with errors' },
});
