import { Command } from 'commander';
import { addOptions } from './option-table.ts';
import { type RecordOptions, recordOptionTable } from './record-options.ts';
import type { Terminal } from './terminal.ts';
import type { TuneOptions } from './tune-options.ts';

/** `tritune record`: measures a whole search space on a server and writes down what `bench-search` replays. */
export function recordCommand(terminal: Terminal): Command {
  const command = new Command('record').description(
    'measure every candidate of a search space at every load level, for bench-search',
  );
  return addOptions(command, recordOptionTable).action(async (options: RecordOptions) => {
    const keys = Object.keys(recordOptionTable) as (keyof TuneOptions)[];
    const given = new Set(keys.filter((key) => command.getOptionValueSource(key) === 'cli'));
    const { runRecord } = await import('./run-record.ts');
    process.exitCode = await runRecord(options, given, terminal);
  });
}
