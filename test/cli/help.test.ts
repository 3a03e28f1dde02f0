import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '#cli/program.ts';
import { runCli } from '../support/cli.ts';
import { helpOf } from '../support/help-of.ts';

const program = await createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined });

const withInner = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap((each) => withInner(each as Command)),
];

const examplesOf = (command: Command): string[] => helpOf(command, 80).match(/^ {2}tritune .+$/gm) ?? [];

/** The words of a command line, as a shell splits one with single quotes. */
const wordsOf = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/, '$1'));

describe('tritune --help', () => {
  it('lists every command under a task', () => {
    const stdout = helpOf(program, 80);
    expect(stdout).not.toContain('\nCommands:');
    for (const command of program.commands) expect(stdout).toMatch(new RegExp(`^  ${command.name()} +[A-Z]`, 'm'));
  });

  it.each(['tune', 'profile', 'capacity'])('lists at most sixty options of %s, and all of them when asked', (name) => {
    const command = program.commands.find((each) => each.name() === name) as Command;
    const listed = helpOf(command, 80).match(/^ {2}-.*/gm) ?? [];
    expect(listed.length).toBeLessThanOrEqual(60);
    const all = command.createHelp().visibleOptions(command).length;
    const left = [...helpOf(command, 80).matchAll(/\((\d+)\)[,\n]/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
    expect(listed.length + left).toBe(all);
  });

  it('shows every option with --help-all', async () => {
    const { stdout, code } = await runCli(['tune', '--help-all']);
    expect(code).toBe(0);
    for (const flag of ['--latency-budget', '--temporal-tls-ca', '--agents', '--body-file'])
      expect(stdout).toContain(`  ${flag}`);
    expect(stdout).not.toContain('More with');
  });

  it('lists the ten most used options of tune first', () => {
    const stdout = helpOf(program.commands.find((command) => command.name() === 'tune') as Command, 80);
    const [, first = ''] = /Most used:\n(.*?)\n\n/s.exec(stdout) ?? [];
    expect(first.match(/^ {2}-/gm)).toHaveLength(10);
    expect(stdout.indexOf('Most used:')).toBeLessThan(stdout.indexOf('Goal:'));
  });
});

describe.each(withInner(program).map((command) => ({ command, name: command.name() })))(
  'the help of $name',
  ({ command }) => {
    it('says what each option is in a short phrase', () => {
      for (const option of command.createHelp().visibleOptions(command)) {
        // But for lists of names.
        const text = option.description.replace(/(?:[\w-]+, ){6,}[\w-]+/, '…');
        expect(text, option.flags).toMatch(/^[A-Z].*[^.]$/s);
        expect(text.length, `${option.flags}: ${text}`).toBeLessThan(200);
      }
    });
  },
);

const examples = withInner(program).flatMap(examplesOf);

it('has examples', () => expect(examples.length).toBeGreaterThan(10));

it.each(examples)('the example runs: %s', async (line) => {
  const [, ...words] = wordsOf(line);
  const terminal = { print: () => undefined, tell: () => undefined, status: () => undefined };
  const { commands } = await createProgram(terminal, words);
  const [name, ...args] = words;
  const command = commands.find((each) => each.name() === name);
  expect(command?.parseOptions(args).unknown).toEqual([]);
});
