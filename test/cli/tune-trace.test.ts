import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const args = (url: string, output: string) => [
  ...['tune', '-m', 'm', '-u', url, '--trace', '--concurrency', '1:1', '--max-trials', '1', '--precision', '50'],
  ...['-o', output],
];

describe('tune --trace', { timeout: 90_000 }, () => {
  it('is refused before anything is changed by a server without a trace file', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const output = await freshDirectory();
    const outcome = await callCli(args(emulator.grpcUrl, join(output, 'run')));
    expect(outcome.stderr).toMatch(/^tritune: UNSUPPORTED: the server was started without a trace file[^\n]+\n$/);
    expect(await recordsOf(join(output, 'run'))).toEqual([]);
  });

  it('leaves nothing tracing: restore ends what a killed run left, and so does --resume, which says where the traces are', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile(), traceFile: '/disk/trace.json' });
    const client = connectGrpc(emulator.grpcUrl);
    try {
      const before = await client.traceSettings();
      expect(before).toMatchObject({ trace_level: ['OFF'], trace_file: ['/disk/trace.json'] });
      const directory = await freshDirectory();
      const [output, twin] = [join(directory, 'killed'), join(directory, 'twin')];
      const run = startCli(args(emulator.grpcUrl, output));
      await untilRecorded(output, run, ({ type }) => type === 'tracing-started');
      await expect.poll(() => client.traceSettings(), { timeout: 20_000, interval: 20 }).not.toEqual(before);
      run.child.kill('SIGKILL');
      await run.ended;
      await cp(output, twin, { recursive: true });
      expect(await client.traceSettings()).toMatchObject({ trace_level: ['TIMESTAMPS'] });
      const restored = await callCli(['restore', output]);
      expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('trace settings are as they were') });
      expect(await client.traceSettings()).toEqual(before);
      expect((await callCli(['restore', output])).stdout).toContain('nothing to do');

      const resumed = await callCli(['tune', '--resume', twin]);
      expect(resumed).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("/disk/trace.json on the server's disk"),
      });
      expect(await client.traceSettings()).toEqual(before);
      expect((await recordsOf(twin)).filter(({ type }) => type === 'tracing-ended')).toHaveLength(1);
    } finally {
      await client.close();
    }
  });
});
