import { Command } from 'commander';
import { addOptions } from './option-table.ts';
import { type SeriesOptions, seriesOptionTable } from './series-options.ts';
import type { Terminal } from './terminal.ts';
import type { TuneOptions } from './tune-options.ts';

/** `tritune tune`: the whole run. Its exit code says how it ended. What only one command needs is loaded when that command runs. */
export function tuneCommand(terminal: Terminal): Command {
  const command = new Command('tune').description('search for the fastest configuration of a model within a budget');
  return addOptions(command, seriesOptionTable).action(async (options: SeriesOptions) => {
    const keys = Object.keys(seriesOptionTable) as (keyof TuneOptions)[];
    const given = new Set(keys.filter((key) => command.getOptionValueSource(key) === 'cli'));
    const { runTune } = await import('./run-tune.ts');
    process.exitCode = await runTune(options, given, terminal);
  });
}
