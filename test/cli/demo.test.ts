import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';

const root = resolve(import.meta.dirname, '../..');

it('has a demo whose space has only candidates that serve larger batches than the original config', async () => {
  const { scripts } = JSON.parse(await readFile(resolve(root, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly demo: string };
  };
  const [, , ...args] = scripts.demo.split(' ');
  const { code, stdout, stderr } = await runCli([...args, '--dry-run'], { cwd: root });
  expect(stderr).toBe('');
  expect(code).toBe(0);
  // The emulated server's own config takes batches of 16.
  expect(stdout).toMatch(/max_batch_size = 64, 128, 256 /);
});
