import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

it('installs what a fleet needs in the image, as it is locked, and nothing that only a developer does', async () => {
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
  const [, words = ''] = /&& (npm install --no-save .*) \\$/m.exec(dockerfile) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'tritune-image-'));
  try {
    for (const name of ['package.json', 'package-lock.json']) await copyFile(join(root, name), join(folder, name));
    const tried = `${words} --dry-run --no-audit --no-fund --loglevel=error`;
    const { stdout } = await run('sh', ['-c', tried], { cwd: folder });
    const added = new Map([...stdout.matchAll(/^add (\S+) (\S+)$/gm)].map(([, name, version]) => [name, version]));
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>;
    };
    for (const name of ['@temporalio/worker', '@temporalio/client', '@temporalio/core-bridge', 'webpack', 'zod'])
      expect(added.get(name), name).toBe(lock.packages[`node_modules/${name}`]?.version);
    for (const name of ['vitest', 'typescript', '@biomejs/biome', 'puppeteer-core'])
      expect([...added.keys()]).not.toContain(name);
  } finally {
    await rm(folder, { recursive: true });
  }
});
