import { Command } from 'commander';
import { addOptions } from '../../../options/option-table.ts';
import type { Terminal } from '../../../terminal.ts';
import { type FleetWatchFlags, fleetWatchOptionTable } from './options.ts';

/** `tritune fleet watch`: serves a page with a fleet's live studies. */
export function fleetWatchCommand(terminal: Terminal): Command {
  const command = new Command('watch').description('Serve a web page that shows all studies live (docs/watch.md)');
  return addOptions(command, fleetWatchOptionTable).action(async (options: FleetWatchFlags) => {
    const { runFleetWatch } = await import('./run.ts');
    process.exitCode = await runFleetWatch(options, terminal);
  });
}
