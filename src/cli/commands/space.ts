import { Command } from 'commander';
import { describeSpace } from '#space/describe.ts';
import { toCandidate } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetNames } from '#space/source/presets.ts';
import { readConfigFile } from '#triton/config/config-file.ts';
import type { Terminal } from '../terminal.ts';
import { formerSchemaCommand } from './schema.ts';

/**
 * `tritune space list|check`: lists search spaces, or checks one.
 */
export function spaceCommand(terminal: Terminal): Command {
  const command = new Command('space').description('List, check and describe search spaces');
  command
    .command('list')
    .description('List the presets, one for each backend')
    .action(() => {
      const names = presetNames();
      const width = Math.max(...names.map((name) => name.length));
      for (const name of names) terminal.print(`${name.padEnd(width)}  ${loadSpace(name).description.trim()}`);
    });
  command
    .command('check')
    .description('Check a search space and describe it')
    .argument('<file|preset>')
    .option('--config <file>', "Model's config.pbtxt; count the candidates that are valid for it")
    .action(async (space: string, options: { config?: string }) => {
      const base =
        options.config === undefined ? undefined : toCandidate((await readConfigFile(options.config)).config);
      terminal.print(describeSpace(loadSpace(space), base));
    });
  return command.addCommand(formerSchemaCommand('space', terminal), { hidden: true });
}
