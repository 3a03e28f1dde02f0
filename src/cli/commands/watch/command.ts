import { Command } from 'commander';
import { RUNS_DIRECTORY } from '../../../app/output/directory.ts';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type WatchFlags, watchOptionTable } from './options.ts';

/** `tritune watch`: serves a page with this machine's live studies. */
export function watchCommand(terminal: Terminal): Command {
  const command = new Command('watch')
    .description('Serve a web page that shows studies of this machine live (docs/watch.md)')
    .argument('[directory...]', `Output directories, or directories that contain them (default: ${RUNS_DIRECTORY})`);
  return addOptions(command, watchOptionTable).action(async (directories: string[], options: WatchFlags) => {
    const { runWatch } = await import('./run.ts');
    process.exitCode = await runWatch(directories, options, terminal);
  });
}
