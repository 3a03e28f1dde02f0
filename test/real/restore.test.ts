import { afterAll, describe, expect, inject, it } from 'vitest';
import { compareConfigs } from '../../src/triton/config/comparison.ts';
import { connectGrpc } from '../../src/triton/control/connect.ts';
import { freshDirectory, runCli, startCli, summaryOf, untilRecorded } from '../support/cli.ts';
import { spaceFile } from './spaces.ts';

const server = inject('realServer');
const client = connectGrpc(server.grpcUrl);
afterAll(() => client.close());

const isSearchTrialMeasured = (record: { type: string; trial?: number }): boolean =>
  record.type === 'trial-measured' && record.trial === 1;

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
});
