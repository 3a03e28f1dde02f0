import { Command } from 'commander';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { addExamples } from '../../help.ts';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { type ConfigOptions, configOptionTable } from './options.ts';

/** `tritune config`: creates or edits a config.pbtxt, and prints on stderr which fields changed. */
export function configCommand(terminal: Terminal): Command {
  const command = new Command('config').description('Create or edit a config.pbtxt, check it, and load it with --load');
  addExamples(command, [
    [
      'Add two instances and a queue delay to a config',
      'tritune config --from config.pbtxt --instances gpu=2 --max-queue-delay 500us',
    ],
    ['Change the config of a model on the server', 'tritune config -m resnet --max-batch-size 16 --load'],
  ]);
  return addOptions(command, configOptionTable).action(async (options: ConfigOptions) => {
    warnIfInsecure(options, terminal);
    const { runConfig } = await import('./run.ts');
    await runConfig(options, terminal);
  });
}
