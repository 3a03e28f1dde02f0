import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { helpOf } from '../support/help-of.ts';

const terminal = { print: () => undefined, tell: () => undefined, status: () => undefined };

/** The help of a command and of those within it, as Markdown. */
function reference(command: Command, parents: readonly string[] = []): string {
  const names = [...parents, command.name()];
  const help = helpOf(command, 120)
    .trimEnd()
    .replaceAll(process.env.HOME ?? '\0', '~');
  const inner = command.commands.map((each) => reference(each as Command, names));
  return [`${'#'.repeat(names.length)} ${names.join(' ')}\n\n\`\`\`text\n${help}\n\`\`\`\n`, ...inner].join('\n');
}

it('documents every command and option', async () => {
  await expect(reference(createProgram(terminal))).toMatchFileSnapshot('../../docs/cli.md');
});
