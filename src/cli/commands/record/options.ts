import { TrituneError } from '../../../base/errors.ts';
import type { RecordingOptions, TuneOptions } from '../../../spec/tune-options.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { durationSeconds, positiveNumber, positiveWhole, wholeRange } from '../../options/option-values.ts';
import { wholeList } from '../../options/sweep-values.ts';
import { type TuneFlags, tuneOptionTable } from '../tune/options.ts';

/** Of `tune`, what a recording has no use for: it has no goal and leaves nothing out. */
type NotRecorded =
  | 'latencyBudget'
  | 'percentile'
  | 'constraint'
  | 'objective'
  | 'sampler'
  | 'candidates'
  | 'modelAnalyzer'
  | 'leastGain'
  | 'maxTrials'
  | 'timeBudget'
  | 'concurrency'
  | 'batchSize'
  | 'requestRate'
  | 'requestDistribution'
  | 'stability'
  | 'trace'
  | 'ui'
  | 'spec'
  | 'printSpec';

/** The options of `tritune record`, parsed. */
export interface RecordFlags extends Omit<TuneFlags, NotRecorded> {
  /** Load levels, in rising order. */
  readonly concurrency: readonly number[];
  readonly repeats: number;
  /** Milliseconds. */
  readonly latencyLimit?: number;
  /** Seconds. */
  readonly window?: number;
  readonly windows?: number;
}

const { latencyBudget, percentile, constraint, objective, sampler, candidates, ...apartFromGoal } = tuneOptionTable;
const {
  leastGain,
  maxTrials,
  timeBudget,
  batchSize,
  requestRate,
  requestDistribution,
  stability,
  trace,
  ui,
  spec,
  printSpec,
  ...shared
} = apartFromGoal;

export const recordOptionTable: OptionTable<RecordFlags> = {
  ...shared,
  model: { ...shared.model, help: 'the model to record' },
  concurrency: {
    flags: '--concurrency <levels>',
    help: 'requests in flight: LOW:HIGH for the powers of two from LOW to HIGH, or a list such as 1,4,16',
    parse: loadLevels,
    default: [1, 2, 4, 8, 16, 32, 64],
  },
  repeats: {
    flags: '--repeats <n>',
    help: 'rounds over the whole grid, each in an order of its own; medians and spreads are kept',
    parse: positiveWhole,
    default: 1,
  },
  latencyLimit: {
    flags: '--latency-limit <ms>',
    help: 'leave out higher levels of a candidate whose p99 is beyond this and whose throughput has stopped growing',
    parse: positiveNumber,
  },
  window: {
    flags: '--window <duration>',
    help: 'length of a measurement window, at least (default: 250ms)',
    parse: durationSeconds,
  },
  windows: {
    flags: '--windows <n>',
    help: 'measure each point for exactly so many windows (default: 3 to 6, by the precision)',
    parse: positiveWhole,
  },
  output: {
    flags: '-o, --output <file>',
    help: 'the recorded grid (default: MODEL-grid.json); its journal is beside it',
  },
  resume: { flags: '--resume <directory>', help: 'go on with an interrupted recording: the directory of its journal' },
};

/** 'LOW:HIGH' → the powers of two between them, both ends included; '1,4,16' → these. Errors: USAGE. */
export function loadLevels(text: string): readonly number[] {
  if (!text.includes(':')) return [...new Set(wholeList(text))].sort((a, b) => a - b);
  const { low, high } = wholeRange(text);
  const levels: number[] = [];
  for (let level = low; level < high; level *= 2) levels.push(level);
  return [...levels, high];
}

/** The options of the study that a recording into the file is; its journal is in the directory beside the file. Errors: USAGE. */
export function studyOptionsOf(flags: RecordFlags, grid: string): TuneOptions & RecordingOptions {
  const { concurrency: levels, ...rest } = flags;
  const [low, high] = [levels[0], levels.at(-1)];
  if (low === undefined || high === undefined) throw new TrituneError('USAGE', 'no load level', 'give --concurrency');
  return {
    ...rest,
    ...{ grid, levelValues: levels, concurrency: { low, high } },
    ...{ sampler: 'grid', percentile: 99, stability: 'interval', requestDistribution: 'constant' },
    output: `${grid.replace(/\.json$/, '')}.recording`,
  };
}
