import type { LevelSpec } from '../../../app/profile/profile-spec.ts';
import { requestDistributions } from '../../../spec/study-spec.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { positiveNumber } from '../../options/option-values.ts';
import {
  burstShape,
  concurrencySweep,
  rateRamp,
  rateSweep,
  steppedRange,
  wholeList,
} from '../../options/sweep-values.ts';

export const levelOptionTable: OptionTable<LevelSpec> = {
  concurrencyRange: {
    flags: '--concurrency-range <start:end:step>',
    help: 'requests kept in flight; an end of 0 goes on until --latency-threshold (default: 1)',
    parse: concurrencySweep,
  },
  requestRateRange: {
    flags: '--request-rate-range <start:end:step>',
    help: 'requests sent per second, whatever the replies do; an end of 0 goes on until --latency-threshold',
    parse: rateSweep,
  },
  requestDistribution: {
    flags: '--request-distribution <distribution>',
    help: 'how the requests of a rate are spread: evenly, or as independent arrivals',
    choices: requestDistributions,
    default: 'constant',
  },
  requestIntervals: {
    flags: '--request-intervals <file>',
    help: 'file with the microseconds between requests, one a line, used over and over',
  },
  arrivalTrace: {
    flags: '--arrival-trace <file>',
    help: 'file with the milliseconds at which requests arrived, one a line; they are sent again, once',
  },
  traceSpeed: {
    flags: '--trace-speed <factor>',
    help: 'how many times as fast --arrival-trace and --fixed-schedule run',
    parse: positiveNumber,
    default: 1,
  },
  fixedSchedule: {
    flags: '--fixed-schedule',
    help: 'send every step of the --input-data file once, at its "timestamp" in milliseconds',
  },
  ramp: {
    flags: '--ramp <from:to:seconds>',
    help: 'a request rate that changes evenly from one to the other, then ends',
    parse: rateRamp,
  },
  burst: {
    flags: '--burst <size:ms>',
    help: 'so many requests at once, again after so many milliseconds',
    parse: burstShape,
  },
  workload: {
    flags: '--workload <file>',
    help: 'workload file: phases, request classes and traces, played over and over; at its own mean rate, or at those of --request-rate-range',
  },
  timeScale: {
    flags: '--time-scale <factor>',
    help: 'durations of --workload times this, with its rates as they are: 0.1 makes an hour six minutes',
    parse: positiveNumber,
  },
  binarySearch: {
    flags: '--binary-search',
    help: 'look for the highest level of the range within --latency-threshold by halving it',
  },
  latencyThreshold: {
    flags: '-l, --latency-threshold <ms>',
    help: 'levels above it end the search; 0 is none',
    parse: threshold,
    default: 0,
  },
  scenario: {
    flags: '--scenario <scenario>',
    help: 'offline: one client, a table of batch sizes; online: one batch size, a table of concurrencies',
    choices: ['offline', 'online'],
  },
  batchSizes: {
    flags: '--batch-sizes <list>',
    help: "batch sizes of --scenario offline (default: powers of two up to the model's max_batch_size)",
    parse: wholeList,
  },
  concurrencies: {
    flags: '--concurrencies <low:high:step>',
    help: 'concurrencies of --scenario online; doubling without a step (default: 8:256:8)',
    parse: steppedRange,
  },
};

function threshold(text: string): number {
  return Number(text) === 0 ? 0 : positiveNumber(text);
}
