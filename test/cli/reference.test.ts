import type { Command, Option } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { helpOf } from '../support/help-of.ts';

const terminal = { print: () => undefined, tell: () => undefined, status: () => undefined };

/** Options by what their help says, each with the command that lists it first. */
type Listed = Map<string, string>;

/** The help of a command and of those within it, as Markdown. Options that an earlier command lists are named only. */
function reference(command: Command, listed: Listed, parents: readonly string[] = []): string {
  const names = [...parents, command.name()];
  const known = hideKnown(command, listed, names.join(' '));
  const help = helpOf(command, 120)
    .trimEnd()
    .replaceAll(process.env.HOME ?? '\0', '~');
  const inner = command.commands.map((each) => reference(each as Command, listed, names));
  return [`${'#'.repeat(names.length)} ${names.join(' ')}\n\n\`\`\`text\n${help}\n\`\`\`\n${known}`, ...inner].join(
    '\n',
  );
}

/** Takes the options that were listed before out of the help, but the most used, and returns lines that name them. */
function hideKnown(command: Command, listed: Listed, name: string): string {
  const help = command.createHelp();
  const keyOf = (option: Option): string => `${option.flags} ${help.optionDescription(option)}`;
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const known = options.filter((each) => each.helpGroupHeading !== 'Most used:' && listed.has(keyOf(each)));
  for (const option of known) option.hideHelp();
  for (const option of options) if (!listed.has(keyOf(option))) listed.set(keyOf(option), name);
  const lines = [...Map.groupBy(known, (option) => listed.get(keyOf(option)))].map(
    ([place, all]) => `As in \`${place}\`: ${all.map(({ long }) => `\`${long}\``).join(', ')}.`,
  );
  return lines.length === 0 ? '' : `\n${lines.join('\n\n')}\n`;
}

it('documents every command and option', async () => {
  await expect(reference(await createProgram(terminal), new Map())).toMatchFileSnapshot('../../docs/cli.md');
});
