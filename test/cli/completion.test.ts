import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { samplerNames, uiNames } from '../../src/cli/tune-options.ts';
import { freshDirectory } from '../support/cli.ts';

const run = promisify(execFile);

async function scriptFor(shell: string): Promise<string> {
  const lines: string[] = [];
  const print = (line: string) => lines.push(line);
  const program = createProgram({ print, tell: () => undefined, status: () => undefined });
  await program.parseAsync(['completion', shell], { from: 'user' });
  return `${lines.join('\n')}\n`;
}

const program = createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined });
const commands = program.commands.map((command) => command.name());

let directory = '';
beforeAll(async () => {
  directory = await freshDirectory();
  await mkdir(join(directory, 'my runs'));
  await writeFile(join(directory, 'my space.yaml'), '');
});

/** What the shell offers for the last of these words, in a directory with a file and a directory. */
type Complete = (words: readonly string[]) => Promise<readonly string[]>;

const bash: Complete = async (words) => {
  const driver = `source script.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tritune
printf '%s\\n' "\${COMPREPLY[@]}"`;
  await writeFile(join(directory, 'script.bash'), await scriptFor('bash'));
  const { stdout } = await run('bash', ['--norc', '-c', driver, 'bash', ...words], { cwd: directory });
  return stdout.split('\n').filter((line) => line !== '');
};

const fish: Complete = async (words) => {
  await writeFile(join(directory, 'script.fish'), await scriptFor('fish'));
  const line = words.map((word) => word.replaceAll(' ', '\\ ')).join(' ');
  const driver = 'source script.fish; complete -C $argv[1]';
  const { stdout } = await run('fish', ['--no-config', '-c', driver, line], { cwd: directory });
  return stdout
    .split('\n')
    .flatMap((offer) => (offer === '' ? [] : [offer.split('\t')[0]?.replaceAll('\\', '') as string]));
};

const hasFish = await run('fish', ['--version']).then(
  () => true,
  () => false,
);
const hasZsh = await run('zsh', ['--version']).then(
  () => true,
  () => false,
);

describe.each([
  ['bash', bash, true],
  ['fish', fish, hasFish],
] as const)('completion in %s', (_, complete, isThere) => {
  it.runIf(isThere)('offers the commands, and those within them', async () => {
    const offered = await complete(['tritune', '']);
    expect(offered).toEqual(expect.arrayContaining(commands));
    expect(await complete(['tritune', 'tu'])).toEqual(['tune']);
    expect([...(await complete(['tritune', 'space', '']))].sort()).toEqual(['check', 'list', 'schema']);
  });

  it.runIf(isThere)('offers every option of the command, and no other', async () => {
    const tune = program.commands.find((command) => command.name() === 'tune');
    const flags = (tune?.options ?? []).map((option) => option.long as string);
    const offered = await complete(['tritune', 'tune', '--']);
    expect(offered).toEqual(expect.arrayContaining(flags));
    expect(offered).not.toContain('--junit');
    expect(await complete(['tritune', 'compare', 'a', '--ju'])).toEqual(['--junit']);
    expect(await complete(['tritune', 'space', 'check', '--con'])).toEqual(['--config']);
  });

  it.runIf(isThere)("offers an option's choices after it", async () => {
    expect([...(await complete(['tritune', 'tune', '--ui', '']))].sort()).toEqual([...uiNames].sort());
    expect([...(await complete(['tritune', 'tune', '-m', 'm', '--sampler', '']))].sort()).toEqual(
      [...samplerNames].sort(),
    );
    expect(await complete(['tritune', 'completion', 'z'])).toEqual(['zsh']);
  });

  it.runIf(isThere)('offers files and directories where they are meant', async () => {
    expect(await complete(['tritune', 'tune', '--space', 'my'])).toEqual(expect.arrayContaining(['my space.yaml']));
    const directories = (await complete(['tritune', 'tune', '--output', 'my'])).map((name) => name.replace(/\/$/, ''));
    expect(directories).toEqual(['my runs']);
    expect((await complete(['tritune', 'report', 'my'])).map((name) => name.replace(/\/$/, ''))).toEqual(['my runs']);
    expect(await complete(['tritune', 'tune', '--model', 'my'])).toEqual([]);
  });
});

describe('completion', () => {
  it("takes bash's own splitting of --option=value", async () => {
    expect(await bash(['tritune', 'tune', '--restore', '=', 're'])).toEqual(['reload']);
    expect([...(await bash(['tritune', 'tune', '--restore', '=']))].sort()).toEqual(['config', 'reload']);
  });

  it.runIf(hasZsh)('is read by zsh, which finds a function for every command', async () => {
    await writeFile(join(directory, 'script.zsh'), await scriptFor('zsh'));
    const functions = commands.map((name) => `_tritune_${name.replaceAll('-', '_')}`);
    const driver = `autoload -U compinit; compinit -D -u; source script.zsh; whence -w ${functions.join(' ')}`;
    const { stdout } = await run('zsh', ['-f', '-c', driver], { cwd: directory });
    expect(stdout.trim().split('\n')).toEqual(functions.map((name) => `${name}: function`));
  });

  it('quotes what a shell would read otherwise', async () => {
    const zsh = await scriptFor('zsh');
    const space = program.commands
      .find((command) => command.name() === 'tune')
      ?.options.find(({ long }) => long === '--space');
    expect(zsh).toContain(`[${space?.description.replaceAll("'", "'\\''")}]`);
  });
});
