import type { ProfileOutputs } from '../../../app/profile/profile-spec.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collect } from '../../options/option-values.ts';

export const outputOptionTable: OptionTable<ProfileOutputs> = {
  csv: { flags: '-f, --csv <file>', help: "write the levels in perf_analyzer's columns" },
  verboseCsv: {
    flags: '--verbose-csv',
    help: 'with the average latency and the wait for the response, and GPU metrics',
  },
  profileExportFile: {
    flags: '--profile-export-file <file>',
    help: 'write the times of every request as JSON, as it goes; the file must not exist',
  },
  json: { flags: '--json <file>', help: 'write everything that was measured as JSON' },
  ndjson: { flags: '--ndjson <file>', help: 'write a line of JSON for every window and level, as it goes' },
  output: { flags: '-o, --output <directory>', help: 'directory for the tables and plots of --scenario' },
  label: {
    flags: '--label <name=value>',
    help: 'a row of the parameter table of --scenario that no config tells, such as Precision=FP16 or GPU=A30; repeatable',
    parse: collect,
  },
  collectMetrics: { flags: '--collect-metrics', help: "report the server's GPU metrics" },
  metricsUrl: { flags: '--metrics-url <url>', help: 'Prometheus metrics (default: http://HOST:8002/metrics)' },
  verbose: { flags: '-v, --verbose', help: 'a line for every window; a stack trace with errors' },
};
