import { expect, it, onTestFinished } from 'vitest';
import { connectHttp } from '#triton/control/connect.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

it('ends a run whose model others use: code, exit code 4, the model put back, what was found written; unless allowed', async () => {
  const emulator = await emulatorForTest({ profile: smallProfile({ a: 4 }) });
  const client = connectHttp(emulator.httpUrl, {});
  onTestFinished(() => client.close());
  const original = await client.modelConfig('m');
  const output = await freshDirectory();
  const args = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--concurrency', '1:2', '--precision', '20'];
  const run = startCli([...args, '--max-trials', '8', '-o', output]);
  await untilRecorded(output, run, ({ type }) => type === 'trial-finished');

  await othersSend('http', emulator.httpUrl, 'm', 1);

  const outcome = await run.ended;
  expect(outcome).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^tritune: FOREIGN_TRAFFIC: other clients sent \d+ requests.*--allow-foreign/m),
  });
  expect(await client.modelConfig('m')).toEqual(original);
  expect((await recordsOf(output)).findLast(({ type }) => type === 'model-restored')).toMatchObject({ verified: true });
  expect(await summaryOf(output)).toMatchObject({
    stopReason: expect.stringContaining('FOREIGN_TRAFFIC'),
    baseline: { throughput: { value: expect.any(Number) } },
  });

  const tolerant = await freshDirectory();
  const allowed = await runCli([...args, '--time-budget', '2s', '--allow-foreign-traffic', '-o', tolerant]);
  expect(allowed).toMatchObject({ code: 0 });
  const measured = (await recordsOf(tolerant)).filter((record) => record.type === 'trial-measured');
  expect(measured[0]?.measurement.foreignRequests).toBeGreaterThan(0);
}, 180_000);
