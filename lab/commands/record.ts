import { Command } from 'commander';
import { addOptions } from '../../src/cli/options/option-table.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { type RecordFlags, recordOptionTable } from './record-options.ts';

/**
 * `tritune-lab record`: measures a whole search space on a server and writes a recording for
 * `bench-search`.
 */
export function recordCommand(terminal: Terminal): Command {
  const command = new Command('record').description(
    'Measure every candidate of a search space at every load level, for bench-search',
  );
  return addOptions(command, recordOptionTable).action(async (options: RecordFlags) => {
    const named = new Set(Object.keys(recordOptionTable).filter((key) => command.getOptionValueSource(key) === 'cli'));
    const { runRecord } = await import('./run-record.ts');
    process.exitCode = await runRecord(options, named, terminal);
  });
}
