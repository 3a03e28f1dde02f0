import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const started = async (output: string) => {
  const [first] = await recordsOf(output);
  if (first?.type !== 'study-started') throw new Error('no study was started');
  return first;
};

describe('the batches of clients', () => {
  it('are kept by default, and said', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 4, config: { dynamic_batching: {} } }) });
    const output = join(await freshDirectory(), 'run');
    const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
    const planned = async (...more: string[]) => {
      const plan = await callCli(['tune', '-m', 'm', ...at, '--dry-run', '--concurrency', '4:4', ...more]);
      expect(plan.code, plan.stderr).toBe(0);
      return plan.stdout;
    };
    expect(await planned()).toContain(
      "max_batch_size 1, 2, 4 are left out: below the original's 8, which clients may use (--client-batch N",
    );
    expect(await planned('--client-batch', '2')).toContain(
      'max_batch_size 1 is left out: clients send up to 2 samples in a request (--client-batch)',
    );
    expect(await planned('--client-batch', '2', '-b', '4')).toContain('max_batch_size 1, 2 are left out');
    const refused = await callCli(['tune', '-m', 'm', ...at, '--client-batch', '9', '-o', output]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("'m' takes 8 samples in a request") });
  });

  it('may be lowered by a candidate that the user lists, which is said in every place', {
    timeout: 120_000,
  }, async () => {
    // Four instances serve much more than one.
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 20, config: { dynamic_batching: {} } }) });
    const directory = await freshDirectory();
    const [list, output] = [join(directory, 'list.yaml'), join(directory, 'run')];
    await writeFile(list, '- { instances: 4, max_batch_size: 4 }\n');
    const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl, '--ui', 'lines'];
    const short = ['--sampler', 'manual', '--candidates', list, '--concurrency', '32:32', '--precision', '25'];
    const { code, stdout } = await runCli(['tune', '-m', 'm', ...at, ...short, '-o', output]);
    expect(code).toBe(0);
    expect((await started(output)).clients).toBeUndefined();
    const summary = await summaryOf(output);
    expect(summary).toMatchObject({
      verdict: expect.stringMatching(/better|unconfirmed/),
      best: { config: { max_batch_size: 4 } },
      clientChanges: [{ model: 'm', what: 'max_batch_size', before: 8, after: 4, breaks: true }],
    });
    const words = 'clients may send 4 samples in a request at most (8 before)';
    expect(stdout).toMatch(/^BREAKS +clients may send 4 samples in a request at most \(8 before\)$/m);
    const page = await readFile(join(output, 'report.html'), 'utf8');
    expect(page).toContain(`<p class="notice bad">The best config breaks clients: ${words}.</p>`);
    expect(page).toContain(`<p class="breaks">${words}</p>`);
  });

  it('are known from the counters of the server, of which this machine knows its share', {
    timeout: 180_000,
  }, async () => {
    const law = { execution_ms: [[1, 0.2]] as [number, number][] };
    const emulator = await emulatorForTest({ profile: smallProfile({ law, config: { dynamic_batching: {} } }) });
    const at = ['-m', 'm', '-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
    const planned = async () => (await callCli(['tune', ...at, '--dry-run', '--concurrency', '4:4'])).stdout;
    const elsewhere = { XDG_STATE_HOME: await freshDirectory() };
    const send = async (count: number, env: Record<string, string>, ...more: string[]) => {
      const load = ['--concurrency-range', '64', '--request-count', String(count), '-i', 'grpc', ...more];
      expect(await runCli(['profile', ...at, ...load], { env })).toMatchObject({ code: 0 });
    };
    await send(9_000, elsewhere);
    expect(await planned()).toContain('max_batch_size 1, 2, 4 are left out');
    await send(1_500, elsewhere);
    const known =
      /max_batch_size may be below the original's 8: the server counted 10,\d\d\d requests of clients, each with one sample/;
    expect(await planned()).toMatch(known);
    // Of this machine: noted, and no client's.
    await send(100, {}, '-b', '2');
    expect(await planned()).toMatch(known);
    await send(100, elsewhere, '-b', '2');
    expect(await planned()).toContain('max_batch_size 1, 2, 4 are left out');
  });
});
