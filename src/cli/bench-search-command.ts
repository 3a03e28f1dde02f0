import { Command } from 'commander';
import { addOptions, type OptionTable } from './option-table.ts';
import { collect, positiveWhole, wholeNumber } from './option-values.ts';
import type { Terminal } from './terminal.ts';
import { type SamplerName, samplerNames } from './tune-options.ts';

/** The options of `tritune bench-search`, parsed. */
export interface BenchSearchOptions {
  readonly quick: boolean;
  readonly scenarios?: number;
  readonly measurements: number;
  readonly samplers: string;
  readonly statistics: boolean;
  readonly gpuMemory: boolean;
  readonly seed: number;
  /** Files of recorded grids, in place of those that come with tritune. */
  readonly grid?: readonly string[];
}

/** How many made-up models the whole benchmark has, and a quick one. */
export const ALL_SCENARIOS = 40;
export const QUICK_SCENARIOS = 4;
/** A list of one's own is no search. */
export const contestants: readonly SamplerName[] = samplerNames.filter((name) => name !== 'manual');

const optionTable: OptionTable<BenchSearchOptions> = {
  quick: { flags: '--quick', help: `${QUICK_SCENARIOS} made-up models instead of ${ALL_SCENARIOS}`, default: false },
  scenarios: { flags: '--scenarios <n>', help: 'so many made-up models; 0 for none', parse: wholeNumber },
  measurements: {
    flags: '--measurements <n>',
    help: 'the length of each search, the original config among them',
    parse: positiveWhole,
    default: 16,
  },
  samplers: { flags: '--samplers <names>', help: 'separated by commas', default: contestants.join(',') },
  statistics: {
    flags: '--no-statistics',
    help: 'servers that report no statistics: samplers see only what clients see',
    default: true,
  },
  gpuMemory: {
    flags: '--gpu-memory',
    help: 'made-up models whose memory may run out are on GPUs that report it',
    default: false,
  },
  seed: { flags: '--seed <n>', help: 'of the samplers and of the noise', parse: wholeNumber, default: 1 },
  grid: {
    flags: '--grid <file>',
    help: 'a grid of your own, from tritune record; repeatable; takes the place of those that come with tritune',
    parse: collect,
  },
};

/** `tritune bench-search`: how good the samplers are, on made-up models and on grids recorded on real servers; no server is needed. */
export function benchSearchCommand(terminal: Terminal): Command {
  const command = new Command('bench-search').description(
    'compare the samplers offline: made-up models, and grids recorded on real servers',
  );
  return addOptions(command, optionTable).action(async (options: BenchSearchOptions) => {
    const { runBenchSearch } = await import('./run-bench-search.ts');
    await runBenchSearch(options, terminal);
  });
}
