import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

describe('tritune capacity', () => {
  it('finds the capacity of a server, and writes what it found', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 10, b: 0.1, config: { max_batch_size: 1 } }) });
    const directory = join(await freshDirectory(), 'run');
    const { code, stdout } = await callCli([
      'capacity',
      ...['-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc', '-l', '200'],
      ...['--precision', '20', '--time-budget', '80s', '--for-rate', '1000', '-o', directory],
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/capacity [\d,.]+ requests\/s \([\d,.]+ to [\d,.]+\) with p99 within 200 ms/);
    expect(stdout).toMatch(/1\.25× \([\d,.]+ requests\/s\)/);
    expect(stdout).toMatch(/1,000 requests\/s with 10 % headroom need \d+ replicas/);
    const document = JSON.parse(await readFile(join(directory, 'capacity.json'), 'utf8'));
    expect(capacityDocumentSchema.safeParse(document).error).toBeUndefined();
    expect(document.server.emulated).toBe('small');
    expect(await readFile(join(directory, 'report.html'), 'utf8')).toContain('Beyond the capacity');
    expect(await readFile(join(directory, 'results.csv'), 'utf8')).toContain('search,');
    const gate = await callCli(['compare', directory, directory, '--pass-if-unsure']);
    expect(gate.code).toBe(0);
    expect(gate.stdout).toContain('capacity');
  }, 300_000);

  it('exits with 3 where no rate keeps the budget', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 50, b: 1 }) });
    const find = () =>
      callCli(['capacity', ...['-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc', '-l', '10', '--time-budget', '60s']]);
    let { code, stdout } = await find();
    // On a busy machine it may find that it was the limit itself, which is another answer.
    for (let again = 0; again < 2 && stdout.includes('load generator'); again++) ({ code, stdout } = await find());
    expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('no rate meets p99 within 10 ms') });
  }, 300_000);

  it.each([
    [['--max-duration', '2s'], '--max-duration is now --time-budget', 'SERVER_UNREACHABLE'],
    [['--max-duration', 'x'], '', "'x' is not a duration"],
    [['--chance', '0.9'], '--chance is now --hold-chance', 'SERVER_UNREACHABLE'],
    [['--chance', '0.1'], '', "'10' is not a percentage from 50"],
  ])('takes the names of the release before: %s', async (args, note, end) => {
    const { stderr } = await callCli(['capacity', '-m', 'm', '-u', 'localhost:1', '-i', 'grpc', '-l', '5', ...args]);
    expect(stderr).toContain(note);
    expect(stderr).toContain(end);
  });

  it('refuses what cannot be asked', async () => {
    const faultOf = async (...args: string[]) => (await callCli(['capacity', '-m', 'm', ...args])).stderr;
    expect(await faultOf()).toContain('the latency budget is missing');
    expect(await faultOf('-l', '5', '--goodput', 'e2e<=5ms')).toContain('cannot be used together');
    expect(await faultOf('-l', '5', '--recover-within', '5s')).toContain('add --burst');
    expect(await faultOf('-l', '5', '--burst', '2')).toContain("'2' is not a burst");
    expect(await faultOf('-l', '5', '--hold-chance', '20%')).toContain('is not a percentage from 50');
    expect(await faultOf('-l', '5', '--headroom', '0.2')).toContain(
      "'0.2' may be a share or a percentage (give 20% or 0.2%)",
    );
    expect(await faultOf('-l', '5', '--endpoint', 'auto', '--shape', 'x:1')).toContain('language model');
  });
});
