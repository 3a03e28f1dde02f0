import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type BenchSearchOptions, benchSearchOptionTable } from './options.ts';

/** `tritune bench-search`: how good the samplers are, on made-up models and on grids recorded on real servers; no server is needed. */
export function benchSearchCommand(terminal: Terminal): Command {
  const command = new Command('bench-search')
    .summary('Compare the samplers offline')
    .description('Compare the samplers offline, on simulated models and on grids recorded on real servers');
  return addOptions(command, benchSearchOptionTable).action(async (options: BenchSearchOptions) => {
    const { runBenchSearch } = await import('./run.ts');
    await runBenchSearch(options, terminal);
  });
}
