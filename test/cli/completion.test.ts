import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { uiNames } from '#cli/commands/tune/options.ts';
import { createProgram } from '#cli/program.ts';
import { samplerNames } from '#study/search/samplers/registry.ts';
import { freshDirectory } from '../support/run-directory.ts';

const run = promisify(execFile);

async function scriptFor(shell: string): Promise<string> {
  const lines: string[] = [];
  const print = (line: string) => lines.push(line);
  const program = await createProgram({ print, tell: () => undefined, status: () => undefined });
  await program.parseAsync(['completion', shell], { from: 'user' });
  return `${lines.join('\n')}\n`;
}

const program = await createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined });
const commands = program.commands.map((command) => command.name());

let directory = '';
beforeAll(async () => {
  directory = await freshDirectory();
  await mkdir(join(directory, 'my runs'));
  await writeFile(join(directory, 'my space.yaml'), '');
});

/**
 * What the shell offers for the last of these words, in a directory with a file and a directory.
 */
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

/**
 * Whether a shell is there to be asked. Where TRITUNE_ALL_SHELLS says that all are, one that is
 * missing fails its tests.
 */
async function isThere(shell: string): Promise<boolean> {
  if (process.env.TRITUNE_ALL_SHELLS === '1') return true;
  return run(shell, ['--version']).then(
    () => true,
    () => false,
  );
}
const [hasFish, hasZsh] = await Promise.all(['fish', 'zsh'].map(isThere));

describe.each([
  ['bash', bash, true],
  ['fish', fish, hasFish],
] as const)('completion in %s', (_, complete, canRun) => {
  it.runIf(canRun)('offers the commands, and those within them', async () => {
    const offered = await complete(['tritune', '']);
    expect(offered).toEqual(expect.arrayContaining(commands));
    expect(await complete(['tritune', 'tu'])).toEqual(['tune']);
    expect([...(await complete(['tritune', 'space', '']))].sort()).toEqual(['check', 'list']);
  });

  it.runIf(canRun)('offers every option of the command, and no other', async () => {
    const tune = program.commands.find((command) => command.name() === 'tune');
    const flags = (tune?.options ?? []).filter(({ hidden }) => !hidden).map((option) => option.long as string);
    const offered = await complete(['tritune', 'tune', '--']);
    expect(offered).toEqual(expect.arrayContaining(flags));
    expect(offered).not.toContain('--junit');
    expect(await complete(['tritune', 'compare', 'a', '--ju'])).toEqual(['--junit']);
    expect(await complete(['tritune', 'space', 'check', '--con'])).toEqual(['--config']);
  });

  it.runIf(canRun)("offers an option's choices after it", async () => {
    expect([...(await complete(['tritune', 'tune', '--ui', '']))].sort()).toEqual([...uiNames].sort());
    const samplers = await complete(['tritune', 'tune', '-m', 'm', '--sampler', '']);
    expect(samplers).toEqual(expect.arrayContaining([...samplerNames]));
    expect(samplers, 'or a module').toEqual(expect.arrayContaining(['my space.yaml']));
    expect(await complete(['tritune', 'tune', '--sampler', 'q'])).toEqual(['queueing']);
    expect(await complete(['tritune', 'tune', '--set', 'limits.maxT'])).toEqual(['limits.maxTrials=']);
    expect(await complete(['tritune', 'completion', 'z'])).toEqual(['zsh']);
  });

  it.runIf(canRun)('offers files and directories where they are meant', async () => {
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
    const functions = ['_tritune_or_files', ...commands.map((name) => `_tritune_${name.replaceAll('-', '_')}`)];
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

/** A command's place, as the shells know it, and its own options. */
const places = program.commands.flatMap((command) =>
  command.commands.length > 0 ? [] : [{ name: command.name(), options: command.createHelp().visibleOptions(command) }],
);

describe.each(places)('the scripts of $name', ({ name, options }) => {
  const flags = options.map(({ long }) => long as string).sort();

  it('have a line for each of its options in fish, with its choices or files, and no other', async () => {
    const lines = (await scriptFor('fish')).split('\n').filter((line) => line.includes(`'__tritune_at ${name}'`));
    const found = lines.flatMap((line) => / -l (\S+)/.exec(line)?.[1] ?? []).map((long) => `--${long}`);
    expect(found.sort()).toEqual(flags);
    for (const option of options) {
      const line = lines.find((each) => each.includes(` -l ${option.long?.slice(2)} `)) ?? '';
      expect(line.includes(' -r '), option.flags).toBe(option.required || option.optional);
      if (option.argChoices) expect(line).toContain(`-a '${option.argChoices.join(' ')}'`);
      if (option.flags.includes('<file>')) expect(line).toContain(' -F ');
    }
  });

  it('have a specification for each of its options in zsh, with its choices or files, and no other', async () => {
    const body = (await scriptFor('zsh')).split(`\n_tritune_${name.replaceAll('-', '_')}() {\n`)[1]?.split('\n}\n')[0];
    const lines = (body ?? '').split('\n').filter((line) => /--[\w-]+\}?'\[/.test(line));
    const found = lines.flatMap((line) => /(--[\w-]+)\}?'\[/.exec(line)?.[1] ?? []);
    expect(found.sort()).toEqual(flags);
    for (const option of options) {
      const line = lines.find((each) => new RegExp(`${option.long}\\}?'\\[`).test(each)) ?? '';
      expect(line.includes(']:value:'), option.flags).toBe(option.required || option.optional);
      if (option.argChoices) expect(line).toContain(`:(${option.argChoices.join(' ')})'`);
      if (option.flags.includes('<file>')) expect(line).toContain(':_files');
    }
  });
});
