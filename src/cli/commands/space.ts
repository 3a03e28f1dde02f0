import { Command } from 'commander';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { describeSpace } from '#space/describe.ts';
import { toCandidate } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetNames } from '#space/source/presets.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { parseConfigText } from '#triton/config/parser.ts';
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
      const base = options.config === undefined ? undefined : toCandidate(await readConfig(options.config));
      terminal.print(describeSpace(loadSpace(space), base));
    });
  return command.addCommand(formerSchemaCommand('space', terminal), { hidden: true });
}

async function readConfig(file: string): Promise<ModelConfig> {
  const text = await readText(file, fileLimits.modelConfig).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${file}: ${formatMessage(error)}`,
      "give a model's config.pbtxt",
    );
  });
  return parseConfigText(text, file).config;
}
