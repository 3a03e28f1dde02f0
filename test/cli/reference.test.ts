import { expect, it } from 'vitest';
import { createProgram } from '#cli/program.ts';
import { commandPage } from '../docs/reference/command-page.ts';

const terminal = { print: () => undefined, tell: () => undefined, status: () => undefined };

it('documents every command and option', async () => {
  await expect(commandPage(await createProgram(terminal))).toMatchFileSnapshot('../../docs/cli.md');
});
