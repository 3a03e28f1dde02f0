import { expect, it } from 'vitest';
import { createProgram } from '#cli/program.ts';
import { processTerminal } from '#cli/terminal.ts';
import { namedCommands, withCommandName } from '#cli/typed-commands.ts';

it('knows every command, and names it as the process was started', async () => {
  const { commands } = await createProgram(processTerminal);
  expect([...namedCommands].sort()).toEqual(
    commands
      .map((command) => command.name())
      .filter((name) => name !== 'help')
      .sort(),
  );
  expect(withCommandName('run `tritune restore DIR`, or tritune tune --resume', 'npx tritune')).toBe(
    'run `npx tritune restore DIR`, or npx tritune tune --resume',
  );
  for (const text of ['this is a defect of tritune: please', 'npx tritune tune', '/opt/tritune tune', 'tritune is'])
    expect(withCommandName(text, 'X')).toBe(text);
});
