import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
const client = connectGrpc(emulator.grpcUrl);
afterAll(async () => {
  await client.close();
  await emulator.close();
});

/**
 * A run that was killed while its first candidate was on the server, in `tritune-runs/` of a
 * directory of its own.
 */
async function killedRun(...server: string[]) {
  const cwd = await freshDirectory();
  const output = join('tritune-runs', 'killed');
  const run = startCli(
    ['tune', '-m', 'm', ...server, '--concurrency', '1:1', '--seed', '3', '--precision', '50', '-o', output],
    { cwd },
  );
  await untilRecorded(join(cwd, output), run, (record) => record.type === 'trial-applied' && record.trial === 1);
  run.child.kill('SIGKILL');
  await run.ended;
  return { cwd, output };
}

describe('restore', { timeout: 180_000 }, () => {
  it('finds the killed run and puts its model back, once', async () => {
    const before = await client.modelConfig('m');
    const { cwd, output } = await killedRun('-u', emulator.grpcUrl);
    expect(compareConfigs(before, await client.modelConfig('m'))).not.toEqual([]);
    expect(await runCli(['restore'], { cwd })).toMatchObject({
      code: 0,
      stdout: `${output}: 'm' has its original config again\n`,
    });
    expect(compareConfigs(before, await client.modelConfig('m'))).toEqual([]);
    expect((await runCli(['restore'], { cwd })).stdout).toMatch(/^no run in/);
  });

  it('leaves alone what somebody else has set since, unless it is forced', async () => {
    const before = await client.modelConfig('m');
    const { cwd } = await killedRun('-u', emulator.grpcUrl);
    const theirs = { ...before, max_batch_size: 7 };
    await client.load('m', theirs);
    expect(await runCli(['restore'], { cwd })).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^tritune: RESTORE_FAILED: .*somebody has changed the config.*--force/),
    });
    expect((await client.modelConfig('m')).max_batch_size).toBe(7);
    expect((await runCli(['restore', '--force'], { cwd })).code).toBe(0);
    expect(compareConfigs(before, await client.modelConfig('m'))).toEqual([]);
  });

  it('has nothing to do for a run whose server was its own', async () => {
    const cwd = await freshDirectory();
    const output = join(cwd, 'run');
    const run = startCli(['tune', '-m', 'sleeper', '--launch', 'emulator:sleeper', '--precision', '20', '-o', output], {
      cwd,
    });
    await untilRecorded(output, run, (record) => record.type === 'study-started');
    run.child.kill('SIGKILL');
    await run.ended;
    expect((await callCli(['restore', output])).stdout).toContain('nothing to do: the server was started for the run');
  });
});
