import { Command } from 'commander';
import { RUNS_DIRECTORY } from '#app/run-directory.ts';
import { TrituneError } from '#base/errors.ts';
import { optionFlag } from '#base/option-flag.ts';
import { tellFormerCommand } from '../former-command.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { type WatchFlags, watchOptionTable } from './watch-options.ts';

/** `tritune watch`: serves a page with the live studies of this machine, or of a fleet. */
export function watchCommand(terminal: Terminal): Command {
  const command = new Command('watch')
    .description('Serve a web page that shows the studies of this machine, or of a fleet, live (docs/watch.md)')
    .argument('[directory...]', `Output directories, or directories that contain them (default: ${RUNS_DIRECTORY})`);
  return addOptions(command, watchOptionTable).action(async (directories: string[], flags: WatchFlags) => {
    if (flags.temporal !== undefined) return watchFleet({ ...flags, temporal: flags.temporal }, terminal);
    const ofFleet = (['group', 'tokenFile', 'tokenEnv'] as const).find((name) => flags[name] !== undefined);
    if (ofFleet) throw new TrituneError('USAGE', `${optionFlag(ofFleet)} is for a fleet`, 'add --temporal');
    const { runWatch } = await import('./run-watch.ts');
    process.exitCode = await runWatch(directories, flags, terminal);
  });
}

/** The name of before: `tritune fleet watch`. */
export function formerWatchCommand(terminal: Terminal): Command {
  const command = new Command('watch').description('Now: tritune watch --temporal <host:port>');
  return addOptions(command, watchOptionTable).action(async (flags: WatchFlags) => {
    tellFormerCommand('fleet watch', 'watch --temporal HOST:PORT', terminal);
    await watchFleet({ temporal: 'localhost:7233', ...flags }, terminal);
  });
}

async function watchFleet(flags: WatchFlags & { readonly temporal: string }, terminal: Terminal): Promise<void> {
  if (flags.temporal === '') throw new TrituneError('USAGE', '--temporal has no address', 'give HOST:PORT');
  const { runFleetWatch } = await import('./run-watch-fleet.ts');
  process.exitCode = await runFleetWatch(flags, terminal);
}
