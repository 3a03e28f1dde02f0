import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type CompareOptions, compareOptionTable } from './options.ts';

/** `tritune compare BASELINE RUN`: the gate. Exits with 5 when the run is surely worse than the baseline. */
export function compareCommand(terminal: Terminal): Command {
  const command = new Command('compare')
    .description('decide by their intervals whether a run is worse than a baseline')
    .argument('<baseline>', 'a summary.json, a capacity.json, the directory of a run, or a file of profile --json')
    .argument('<run...>', 'the same of what is to be judged; several are repeated measurements of it');
  return addOptions(command, compareOptionTable).action(
    async (baseline: string, runs: readonly string[], options: CompareOptions) => {
      const { runCompare } = await import('./run.ts');
      process.exitCode = await runCompare([baseline, ...(options.baseline ?? [])], runs, options, terminal);
    },
  );
}
