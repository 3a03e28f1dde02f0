import type { GoodputLimits, MeasuringSpec } from '#spec/profile-spec.ts';
import { goodputLimits } from '../../options/goodput.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { percentileOrNone } from '../../options/sweep-values.ts';

type MeasuringOptions = MeasuringSpec & GoodputLimits;

export const measuringOptionTable: OptionTable<MeasuringOptions> = under<MeasuringOptions>('Measurement', {
  stability: {
    flags: '--stability <rule>',
    help: "When a level is complete: by its 95 % intervals, or by perf_analyzer's last three windows (default: interval, unless an option of perf_analyzer's rule is given)",
  },
  precision: {
    flags: '--precision <percent>',
    help: 'Measure until the 95 % intervals are this narrow, in ± percent',
  },
  measurementMode: {
    flags: '--measurement-mode <mode>',
    help: 'Windows of a fixed time or of a request count (default: time_windows)',
  },
  measurementInterval: {
    flags: '-p, --measurement-interval <ms>',
    help: 'Length of a window, in ms (default: 5000)',
  },
  measurementRequestCount: {
    flags: '--measurement-request-count <n>',
    help: 'Requests in a window of count_windows, at least (default: 50)',
  },
  stabilityPercentage: {
    flags: '-s, --stability-percentage <percent>',
    help: 'Largest difference of the last three windows, in percent (default: 10)',
  },
  maxTrials: {
    flags: '-r, --max-trials <n>',
    help: 'Windows after which a level is reported as unstable (default: 10)',
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'Latency percentile to judge by, such as 99 (default: the average)',
    parse: percentileOrNone,
  },
  requestCount: {
    flags: '--request-count <n>',
    help: 'Measure exactly this many requests',
  },
  passes: {
    flags: '--passes <n>',
    heading: 'Workloads',
    help: 'Passes of --workload to measure (default: as many as take five seconds)',
  },
  goodput: {
    flags: '--goodput <limits...>',
    help: "Count the requests per second that keep these limits, such as e2e<=50ms or 'ttft<=200ms itl<=20ms tpot<=15ms'",
    parse: goodputLimits,
  },
  warmupRequestCount: {
    flags: '--warmup-request-count <n>',
    help: 'Warm-up requests (default: until the latency has settled)',
  },
  requestTimeout: {
    flags: '--request-timeout <duration>',
    help: 'Time after which a request without a reply counts as failed, in s',
  },
  maxOutage: {
    flags: '--max-outage <duration>',
    heading: 'Safety',
    help: 'Longest time that the server may be unreachable, after its first answer, before the run ends',
  },
  seed: { flags: '--seed <n>', help: 'Seed of the random numbers' },
});
