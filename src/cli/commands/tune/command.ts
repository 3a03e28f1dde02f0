import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type SeriesFlags, seriesOptionTable } from './series-options.ts';

/** `tritune tune`: the whole run. Its exit code says how it ended. What only one command needs is loaded when that command runs. */
export function tuneCommand(terminal: Terminal): Command {
  const command = new Command('tune').description('search for the fastest configuration of a model within a budget');
  return addOptions(command, seriesOptionTable).action(async (options: SeriesFlags) => {
    const named = new Set(Object.keys(seriesOptionTable).filter((key) => command.getOptionValueSource(key) === 'cli'));
    const { runTune } = await import('./run.ts');
    process.exitCode = await runTune(options, named, terminal);
  });
}
