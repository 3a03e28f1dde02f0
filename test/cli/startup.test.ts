import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { cliProgram } from '../support/cli-program.ts';

const hook = join(import.meta.dirname, '../support/count-modules.mjs');

async function modulesOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', hook, cliProgram('main'), ...args]);
  return JSON.parse(stderr) as string[];
}

it.each(['--version', '--help', 'help'])('tritune %s loads a few files, and no command', async (option) => {
  const modules = await modulesOf(option);
  expect(modules.length).toBeGreaterThan(1);
  expect(modules.length).toBeLessThanOrEqual(20);
  expect(modules.filter((url) => /zod|\/command-(?!line|name)|undici|protobuf|options/.test(url))).toEqual([]);
});

it('the help of a command loads the options of no other', async () => {
  const modules = await modulesOf('compare', '--help');
  expect(modules.length).toBeLessThanOrEqual(30);
});
