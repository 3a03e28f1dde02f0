import { Command } from 'commander';
import { addOptions } from '../../src/cli/options/option-table.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { type BenchSearchOptions, benchSearchOptionTable } from './bench-search-options.ts';

/**
 * `tritune-lab bench-search`: measures the quality of the samplers on made-up models and on grids
 * recorded on real servers. Needs no server.
 */
export function benchSearchCommand(terminal: Terminal): Command {
  const command = new Command('bench-search').description(
    'Compare the samplers offline, on simulated models and on grids recorded on real servers',
  );
  return addOptions(command, benchSearchOptionTable).action(async (options: BenchSearchOptions) => {
    const { runBenchSearch } = await import('./run-bench-search.ts');
    await runBenchSearch(options, terminal);
  });
}
