import { Command } from 'commander';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type ConfigOptions, configOptionTable } from './options.ts';

/** `tritune config`: makes a config.pbtxt, or edits one, and says on stderr what became of which field. */
export function configCommand(terminal: Terminal): Command {
  const command = new Command('config').description('make or edit a config.pbtxt, check it, and load it if asked to');
  return addOptions(command, configOptionTable).action(async (options: ConfigOptions) => {
    warnIfInsecure(options, terminal);
    const { runConfig } = await import('./run.ts');
    await runConfig(options, terminal);
  });
}
