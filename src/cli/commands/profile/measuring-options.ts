import type { GoodputLimits, MeasuringSpec } from '../../../app/profile/profile-spec.ts';
import { goodputLimits } from '../../options/goodput.ts';
import type { OptionTable } from '../../options/option-table.ts';
import {
  durationSeconds,
  milliseconds,
  positiveNumber,
  positiveWhole,
  wholeNumber,
} from '../../options/option-values.ts';
import { percentileOrNone } from '../../options/sweep-values.ts';

export const measuringOptionTable: OptionTable<MeasuringSpec & GoodputLimits> = {
  stability: {
    flags: '--stability <rule>',
    help: "when a level is done: interval, by its 95 % intervals; perf-analyzer, by the spread of its last three windows (default: interval, unless one of that rule's options is given)",
    choices: ['interval', 'perf-analyzer'],
  },
  precision: {
    flags: '--precision <percent>',
    help: 'half-width of the 95 % intervals that ends a level',
    parse: positiveNumber,
    default: 3,
  },
  measurementMode: {
    flags: '--measurement-mode <mode>',
    help: 'what a window is measured by (default: time_windows)',
    choices: ['time_windows', 'count_windows'],
  },
  measurementInterval: {
    flags: '-p, --measurement-interval <ms>',
    help: 'length of a window (default: 5000)',
    parse: milliseconds,
  },
  measurementRequestCount: {
    flags: '--measurement-request-count <n>',
    help: 'least requests in a window of count_windows (default: 50)',
    parse: positiveWhole,
  },
  stabilityPercentage: {
    flags: '-s, --stability-percentage <percent>',
    help: 'how far apart the last three windows may be (default: 10)',
    parse: positiveNumber,
  },
  maxTrials: {
    flags: '-r, --max-trials <n>',
    help: 'windows after which a level is given up as unstable (default: 10)',
    parse: positiveWhole,
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'the latency that is looked at, such as 99 or 99.9 (default: the average)',
    parse: percentileOrNone,
  },
  requestCount: {
    flags: '--request-count <n>',
    help: 'measure exactly so many requests, from the first sending to the last reply',
    parse: wholeNumber,
  },
  passes: {
    flags: '--passes <n>',
    help: 'whole passes of --workload that are counted (default: as many as last five seconds)',
    parse: positiveWhole,
  },
  goodput: {
    flags: '--goodput <limits...>',
    help: "count the requests per second that keep all of these limits, such as e2e<=50ms; for a language model also 'ttft<=200ms itl<=20ms tpot<=15ms'. At a request rate from the time due",
    parse: goodputLimits,
  },
  warmupRequestCount: {
    flags: '--warmup-request-count <n>',
    help: 'requests before anything is counted (default: until the latency has settled)',
    parse: wholeNumber,
  },
  requestTimeout: {
    flags: '--request-timeout <duration>',
    help: 'a request without its reply counts as failed after so long',
    parse: durationSeconds,
    default: 30,
  },
  seed: { flags: '--seed <n>', help: 'seed of everything random', parse: wholeNumber, default: 1 },
};
