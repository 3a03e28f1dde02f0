import { hostname } from 'node:os';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';
import { spaceFile } from './spaces.ts';

const server = inject('realServer');
const client = connectGrpc(server.grpcUrl);
afterAll(() => client.close());

const isSearchTrialMeasured = (record: { type: string; trial?: number }): boolean =>
  record.type === 'trial-measured' && record.trial === 1;

const isChangedAnew = (record: { type: string; change?: string; trial?: number }): boolean =>
  record.type === 'trial-applied' && record.change === 'full';

async function startRun() {
  const output = await freshDirectory();
  const space = await spaceFile('sleeper');
  const args = ['tune', '-m', 'sleeper', '-u', server.grpcUrl, '--space', space, '--sampler', 'grid', '-o', output];
  return { output, running: startCli([...args, '--concurrency', '4:8', '--precision', '10']) };
}

describe('the served model', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('is put back after %s, and partial results are written', async (signal) => {
    const before = await client.modelConfig('sleeper');
    const { output, running } = await startRun();
    await untilRecorded(output, running, isSearchTrialMeasured);
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).not.toEqual([]);
    running.child.kill(signal);
    expect((await running.ended).code).toBe(130);
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
    expect(await summaryOf(output)).toMatchObject({ interrupted: true, restored: { verified: true } });
  });

  it('is put back by `tritune restore` after kill -9, and the study can go on', async () => {
    const before = await client.modelConfig('sleeper');
    const { output, running } = await startRun();
    await untilRecorded(output, running, isSearchTrialMeasured);
    running.child.kill('SIGKILL');
    await running.ended;
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).not.toEqual([]);

    const restored = await runCli(['restore', output]);
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('original config') });
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
    expect((await runCli(['restore', output])).stdout).toContain('nothing to do');

    const resumed = await runCli(['tune', '--resume', output, '--max-trials', '1']);
    expect(resumed.code).toBe(0);
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
    expect((await summaryOf(output)).restored?.verified).toBe(true);
  });

  it('is taken for the original by nobody after kill -9, and is put back by --restore-first', async () => {
    const before = await client.modelConfig('sleeper');
    const { output, running } = await startRun();
    await untilRecorded(output, running, isChangedAnew);
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await client.runMark('sleeper')).toEqual({ host: hostname(), directory: output });
    const there = ['-m', 'sleeper', '-u', server.grpcUrl];
    const next = await freshDirectory();
    const commands = {
      tune: ['tune', ...there, '-o', next],
      profile: ['profile', ...there, '-i', 'grpc', '--request-count', '5'],
      capacity: ['capacity', ...there, '-i', 'grpc', '-l', '1000', '--time-budget', '3s'],
      doctor: ['doctor', ...there],
    };
    for (const [name, args] of Object.entries(commands)) {
      const { code, stdout, stderr } = await runCli(args);
      expect([name, code]).toEqual([name, 2]);
      expect(stdout + stderr).toContain("MODEL_LEFT_CHANGED: a run that was killed left 'sleeper' changed");
      expect(stdout + stderr).toContain(` restore ${output}, or add --restore-first`);
    }
    const space = await spaceFile('sleeper');
    const run = await runCli([
      ...['tune', ...there, '-o', next, '--space', space, '--sampler', 'grid', '--max-trials', '1'],
      ...['--concurrency', '4:4', '--precision', '25', '--restore-first'],
    ]);
    expect(run.stderr).toContain("restored first: 'sleeper' has its original config again");
    expect(run.code).toBe(0);
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
    expect(await client.runMark('sleeper')).toBeNull();
    expect((await summaryOf(next)).restored).toMatchObject({ verified: true });
    expect((await runCli(commands.profile)).code).toBe(0);
  });
});
