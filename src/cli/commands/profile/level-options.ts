import type { LevelSpec } from '#spec/profile-spec.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { latencyMs } from '../../options/option-values.ts';
import {
  burstShape,
  concurrencySweep,
  rateRamp,
  rateSweep,
  steppedRange,
  wholeList,
} from '../../options/sweep-values.ts';

export const levelOptionTable: OptionTable<LevelSpec> = under<LevelSpec>('Load', {
  concurrencyRange: {
    flags: '--concurrency-range <start:end:step>',
    help: 'Requests in flight; an end of 0 continues until --latency-threshold (default: 1)',
    parse: concurrencySweep,
  },
  requestRateRange: {
    flags: '--request-rate-range <start:end:step>',
    help: 'Requests per second, whether or not replies have arrived; an end of 0 continues until --latency-threshold',
    parse: rateSweep,
  },
  requestDistribution: {
    flags: '--request-distribution <distribution>',
    help: 'Arrivals of a request rate: evenly spaced, or random (a Poisson process)',
  },
  requestIntervals: {
    flags: '--request-intervals <file>',
    help: 'File with the microseconds between requests, one on each line; repeated as needed',
    heading: 'Workloads',
  },
  arrivalTrace: {
    flags: '--arrival-trace <file>',
    help: 'File with the arrival times of requests in ms, one on each line; sent once',
  },
  traceSpeed: {
    flags: '--trace-speed <factor>',
    help: 'Speed of --arrival-trace and --fixed-schedule',
  },
  fixedSchedule: {
    flags: '--fixed-schedule',
    help: 'Send each step of the --input-data file once, at its "timestamp" in ms',
  },
  ramp: {
    flags: '--ramp <from:to:seconds>',
    help: 'Change the request rate linearly from one value to another over this time',
    parse: rateRamp,
  },
  periodicBurst: {
    flags: '--periodic-burst <size:ms>',
    otherName: { flags: '--burst <size:ms>', isFormer: true },
    help: 'Send SIZE requests at once, every MS milliseconds',
    parse: burstShape,
  },
  workload: {
    flags: '--workload <file>',
    heading: 'Workloads',
    help: 'Workload file to play, at its own mean rate or at those of --request-rate-range (docs/workloads.md)',
  },
  timeScale: {
    flags: '--time-scale <factor>',
    heading: 'Workloads',
    help: 'Multiply the durations of --workload, at the same rates; 0.1 turns an hour into six minutes',
  },
  binarySearch: {
    flags: '--binary-search',
    help: 'Find the highest level of the range within --latency-threshold by binary search',
  },
  latencyThreshold: {
    flags: '-l, --latency-threshold <ms>',
    otherName: { flags: '--latency-budget <ms>' },
    help: 'Stop at the first level with a higher latency, in ms; 0 is no limit; also --latency-budget, as in tune',
    parse: threshold,
    default: 0,
  },
  scenario: {
    flags: '--scenario <scenario>',
    help: 'Write a table of batch sizes for one client (offline), or of concurrencies for one batch size (online)',
  },
  batchSizes: {
    flags: '--batch-sizes <list>',
    help: "Batch sizes of --scenario offline (default: powers of two up to the model's max_batch_size)",
    parse: wholeList,
  },
  concurrencies: {
    flags: '--concurrencies <low:high:step>',
    help: 'Concurrencies of --scenario online; without a step they double (default: 8:256:8)',
    parse: steppedRange,
  },
});

function threshold(text: string): number {
  return Number(text) === 0 ? 0 : latencyMs(text);
}
