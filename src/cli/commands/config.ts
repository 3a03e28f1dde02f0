import { Command } from 'commander';
import type { AnyProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { addExamples } from '../help.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { type ConfigOptions, configOptionTable } from './config-options.ts';

/** Only the config of a server needs a protocol. */
async function reached(options: AnyProtocol<ConfigOptions>): Promise<ConfigOptions> {
  const isOffline = !options.load && (options.from ?? options.backend ?? options.platform) !== undefined;
  if (isOffline) return { protocol: 'grpc', ...options };
  const { withProtocol } = await import('#app/server/find-protocol.ts');
  return withProtocol<ConfigOptions>(options);
}

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
  return addOptions(command, configOptionTable).action(async (configOptions: AnyProtocol<ConfigOptions>) => {
    const options = await reached(configOptions);
    warnIfInsecure(options, terminal);
    const { runConfig } = await import('./run-config.ts');
    await runConfig(options, terminal);
  });
}
