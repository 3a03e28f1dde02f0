import { TrituneError } from '../../src/base/errors.ts';
import { type TuneFlags, tuneOptionTable } from '../../src/cli/commands/tune/options.ts';
import type { OptionTable } from '../../src/cli/options/option-table.ts';
import { durationSeconds, latencyMs, positiveWhole, wholeRange } from '../../src/cli/options/option-values.ts';
import { wholeList } from '../../src/cli/options/sweep-values.ts';
import type { FlatStudyOptions, RecordingOptions } from '../../src/spec/tune-options.ts';

/**
 * Options of `tune` that do not apply to a recording, which has no goal and measures everything.
 */
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

/** The options of `tritune-lab record`, parsed. */
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
  model: { ...shared.model, help: 'Model to record' },
  concurrency: {
    flags: '--concurrency <levels>',
    help: 'Requests in flight: LOW:HIGH for powers of two, or a list such as 1,4,16',
    heading: 'Load',
    parse: loadLevels,
    default: [1, 2, 4, 8, 16, 32, 64],
  },
  repeats: {
    flags: '--repeats <n>',
    help: 'Rounds over the whole grid, each in another order; medians and spreads are kept',
    heading: 'Measurement',
    parse: positiveWhole,
    default: 1,
  },
  latencyLimit: {
    flags: '--latency-limit <ms>',
    help: 'Skip higher levels of a candidate when its p99 exceeds this, in ms, and its throughput has stopped growing',
    heading: 'Measurement',
    parse: latencyMs,
  },
  window: {
    flags: '--window <duration>',
    help: 'Shortest measurement window (default: 250ms)',
    heading: 'Measurement',
    parse: durationSeconds,
  },
  windows: {
    flags: '--windows <n>',
    help: 'Windows to measure each point for (default: 3 to 6, by the precision)',
    heading: 'Measurement',
    parse: positiveWhole,
  },
  output: {
    flags: '-o, --output <file>',
    help: 'File for the grid (default: MODEL-grid.json); its journal is written next to it',
    heading: 'Output',
  },
  resume: { flags: '--resume <directory>', help: 'Continue the recording in this directory', heading: 'Output' },
};

/**
 * 'LOW:HIGH' → the powers of two between them, both ends included; '1,4,16' → these. Errors: USAGE.
 */
export function loadLevels(text: string): readonly number[] {
  if (!text.includes(':')) return [...new Set(wholeList(text))].sort((a, b) => a - b);
  const { low, high } = wholeRange(text);
  const levels: number[] = [];
  for (let level = low; level < high; level *= 2) levels.push(level);
  return [...levels, high];
}

/**
 * Returns the options of the study that records into the file; its journal is in the directory next
 * to the file. Errors: USAGE.
 */
export function toStudyOptions(flags: RecordFlags, grid: string): FlatStudyOptions & RecordingOptions {
  const { concurrency: levels, ...rest } = flags;
  const [low, high] = [levels[0], levels.at(-1)];
  if (low === undefined || high === undefined)
    throw new TrituneError('USAGE', 'there is no load level to record', 'give --concurrency, for example 1,4,16');
  return {
    ...rest,
    grid,
    levelValues: levels,
    concurrency: { low, high },
    sampler: 'grid',
    percentile: 99,
    stability: 'interval',
    requestDistribution: 'constant',
    output: `${grid.replace(/\.json$/, '')}.recording`,
  };
}
