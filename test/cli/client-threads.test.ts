import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Faults } from '#emulator/faults.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const faults: Faults = {};
const emulator = await startEmulator({ profile: smallProfile(), faults });
afterAll(() => emulator.close());

const tuneTo = (output: string, ...more: string[]) => [
  ...['tune', '-m', 'm', '-u', emulator.grpcUrl, '--max-trials', '1', '--precision', '20', '-o', output],
  ...['--concurrency', '3:3', ...more],
];
const profileWith = (...more: string[]) => ['profile', '-m', 'm', '-i', 'grpc', '-u', emulator.grpcUrl, ...more];

/** Every so many requests one fails. */
function failEvery(count: number): void {
  let served = 0;
  faults.failInfer = () =>
    ++served % count === 0 ? { status: 'INVALID_ARGUMENT', message: `request ${count} of ${count}` } : null;
}

describe('--client-threads', { timeout: 180_000 }, () => {
  it('tunes with several threads, whose requests the server counts as ours', async () => {
    faults.failInfer = () => null;
    const output = await freshDirectory();
    expect(await callCli(tuneTo(output, '--client-threads', '2', '--time-budget', '3s'))).toMatchObject({ code: 0 });
    const measured = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-measured' ? [each.measurement] : [],
    );
    expect(measured.length).toBeGreaterThan(0);
    for (const { errorRate, foreignRequests, server, requests } of measured) {
      expect([errorRate, foreignRequests]).toEqual([0, undefined]);
      expect((server?.inferenceCount ?? 0) / requests).toBeGreaterThan(0.8);
      expect((server?.inferenceCount ?? 0) / requests).toBeLessThan(1.2);
    }
  });

  it('does not go with what only one thread does', async () => {
    const kept = ['--profile-export-file', join(await freshDirectory(), 'export.json')];
    const outcome = await callCli(profileWith('--client-threads', '2', ...kept));
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringMatching('USAGE: .*leave out --client-threads') });
  });
});

describe('--max-errors', { timeout: 180_000 }, () => {
  it('ends a run of tune whose original config fails too often, in the words of the server', async () => {
    failEvery(40);
    const outcome = await callCli(tuneTo(await freshDirectory(), '--max-errors', '2'));
    expect(outcome).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(/discarded: too many requests failed/),
      stderr: expect.stringMatching(/SERVER_FAILED: .*too many requests failed: request 40 of 40/),
    });
  });

  it('lets pass what it allows', async () => {
    failEvery(40);
    const outcome = await runCli(
      profileWith('--max-errors', '5', '--concurrency-range', '4', '--request-count', '200'),
    );
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends a profile, and names each kind of failure', async () => {
    failEvery(40);
    const outcome = await callCli(
      profileWith('--max-errors', '2', '--client-threads', '2', '--concurrency-range', '4'),
    );
    expect(outcome).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/SERVER_FAILED: too many requests failed \(\d+ status: request 40 of 40\)/),
    });
  });
});
