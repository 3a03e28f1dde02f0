import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

const started = ['-m', 'yolov7', '--launch', 'emulator:demo'];
const shortly = ['--concurrency', '1:1', '--precision', '50', '--max-trials', '1'];
const engine = ['--endpoint', 'openai', '--launch-command', 'vllm serve m --port {port}'];

/** With the exit code that each ends with. */
const commands = (url: string): readonly (readonly [code: number, args: readonly string[]])[] => [
  [0, ['profile', ...started, '--request-count', '5']],
  [0, ['capacity', ...started, '-l', '5000', '--time-budget', '4s', '--precision', '90']],
  [0, ['tune', ...started, '--dry-run']],
  [0, ['tune', '-m', 'm', ...engine, '--dry-run']],
  [2, ['profile', '-m', 'missing', '--launch', 'emulator:demo', '--request-count', '5']],
  [0, ['tune', '-m', 'm', '-u', url, ...shortly]],
];

it('no run leaves anything in the folder for temporary files', { timeout: 120_000 }, async () => {
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
  const left = await freshDirectory();
  for (const [code, args] of commands(grpcUrl)) {
    const output = args[0] === 'tune' ? ['-o', join(await freshDirectory(), 'run')] : [];
    const outcome = await runCli([...args, ...output], { env: { TMPDIR: left } });
    expect(outcome.code, `${args.join(' ')}\n${outcome.stderr}`).toBe(code);
    expect([args.join(' '), await readdir(left)]).toEqual([args.join(' '), []]);
  }
});
