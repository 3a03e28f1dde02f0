import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

/**
 * On Linux what only Linux has is hidden from the program: the name of the system, its files, and
 * the programs of its `PATH`. On another system, as in the workflow, nothing has to be.
 */
const env: Readonly<Record<string, string>> =
  process.platform === 'linux'
    ? { NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, '../support/without-linux.ts'))}`, PATH: '' }
    : {};

const emulator = await startEmulator({ profile: smallProfile() });
const client = connectGrpc(emulator.grpcUrl);
afterAll(async () => {
  await client.close();
  await emulator.close();
});

const at = ['-m', 'm', '-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
const run = async (...args: readonly string[]) => runCli(args, { cwd: await freshDirectory(), env });

describe('on a system without what only Linux has', { timeout: 120_000 }, () => {
  it('doctor says what a run does not know or cannot do there', async () => {
    const { code, stdout } = await run('doctor', ...at);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^note +machine +not Linux: what else ran on this machine/m);
    expect(stdout).toMatch(/^note +shared_memory +not on this machine: no --shared-memory system$/m);
    expect(stdout).not.toContain('bad ');
  });

  it('tune searches on a remote server, writes its documents, and restores the model', async () => {
    const before = await client.modelConfig('m');
    const cwd = await freshDirectory();
    const load = ['--concurrency', '1:4', '--max-trials', '1', '--precision', '50', '--seed', '3'];
    const { code, stderr } = await runCli(['tune', ...at, ...load, '-o', 'run'], { cwd, env });
    expect(code, stderr).toBe(0);
    // Of so short a search the original may be the best, and then it writes no other config.
    expect(readdirSync(join(cwd, 'run')).sort()).toEqual(
      expect.arrayContaining(['journal.jsonl', 'report.html', 'results.csv', 'summary.json']),
    );
    expect(compareConfigs(before, await client.modelConfig('m'))).toEqual([]);
  });

  it('profile measures over both protocols, also at a request rate', async () => {
    const rate = ['--request-rate-range', '50', '-p', '300'];
    expect(await run('profile', ...at, ...rate)).toMatchObject({ code: 0 });
    const url = ['-m', 'm', '-u', emulator.httpUrl, '-i', 'http', '--metrics-url', emulator.metricsUrl];
    expect(await run('profile', ...url, '--concurrency-range', '2', '-p', '300')).toMatchObject({ code: 0 });
  });

  it('what needs Linux is refused with what to do instead', async () => {
    const level = ['--concurrency-range', '2', '-p', '300'];
    const shared = await run('profile', ...at, ...level, '--shared-memory', 'system');
    expect(shared).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/UNSUPPORTED: .*leave out --shared-memory/),
    });
    const cuda = await run('profile', ...at, ...level, '--shared-memory', 'cuda');
    expect(cuda).toMatchObject({ code: 2, stderr: expect.stringMatching(/UNSUPPORTED: the CUDA driver/) });
    const install = await run('install-triton');
    expect(install).toMatchObject({ code: 4, stderr: expect.stringMatching(/is for Linux on x86-64, this is \w+ on/) });
  });
});
