import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
afterAll(() => emulator.close());

const tuneAt = (url: string, ...more: string[]) => [
  'tune',
  '-m',
  'm',
  '-u',
  url,
  '--concurrency',
  '1:2',
  '--max-trials',
  '1',
  '--precision',
  '20',
  ...more,
];

/** One line on stderr: a code, what happened, and in brackets what to do. */
const oneLine = (code: string, text: RegExp) =>
  expect.stringMatching(new RegExp(`^tritune: ${code}: (?=[^\\n]*${text.source})[^\\n]+ \\([^\\n]+\\)\\n$`));

describe('bad input to tune', () => {
  it('names the models that there are when asked for an unknown one', async () => {
    const output = join(await freshDirectory(), 'run');
    const outcome = await callCli(['tune', '-m', 'n', '-u', emulator.grpcUrl, '-o', output]);
    expect(outcome).toMatchObject({ code: 2, stderr: oneLine('MODEL_UNKNOWN', /'n'.*its models: m/) });
    await expect(readdir(output)).rejects.toThrow();
  });

  it('asks for a model when none is named', async () => {
    expect(await runCli(['tune', '-u', emulator.grpcUrl])).toMatchObject({
      code: 2,
      stderr: oneLine('USAGE', /the model is missing/),
    });
  });

  it.each(['grpc', 'http'])('says where nothing answers (%s)', async (protocol) => {
    const outcome = await callCli(tuneAt('127.0.0.1:1', '-i', protocol, '-o', await freshDirectory()));
    expect(outcome).toMatchObject({ code: 4, stderr: oneLine('SERVER_UNREACHABLE', /127\.0\.0\.1:1/) });
  });

  it.each(['none', 'poll'] as const)('says that a server in %s mode takes no load calls', async (controlMode) => {
    const other = await emulatorForTest({ controlMode });
    const outcome = await callCli(tuneAt(other.grpcUrl, '-o', await freshDirectory()));
    expect(outcome).toMatchObject({ code: 4, stderr: oneLine('CONTROL_DISABLED', /explicit/) });
  });

  it('points at file, line and path of a bad search space', async () => {
    const directory = await freshDirectory();
    const space = join(directory, 'my.yaml');
    await writeFile(space, 'name: my\nparameters:\n  instances:\n    range: [1, four]\n');
    const outcome = await callCli(tuneAt(emulator.grpcUrl, '--space', space, '-o', join(directory, 'run')));
    expect(outcome).toMatchObject({
      code: 2,
      stderr: oneLine('SPACE_INVALID', /my\.yaml:4:\d+.*parameters\.instances/),
    });
    const missing = await callCli(tuneAt(emulator.grpcUrl, '--space', 'no-such-space', '-o', join(directory, 'run')));
    expect(missing).toMatchObject({ code: 2, stderr: oneLine('SPACE_INVALID', /no-such-space.*presets/) });
  });

  it('says that the output directory cannot be written', async () => {
    const file = join(await freshDirectory(), 'file');
    await writeFile(file, '');
    const outcome = await callCli(tuneAt(emulator.grpcUrl, '-o', join(file, 'run')));
    expect(outcome).toMatchObject({ code: 2, stderr: oneLine('OUTPUT_UNWRITABLE', /--output/) });
  });

  it.each([
    ['--constraint', 'speed<=3'],
    ['--constraint', 'latency'],
    ['--objective', 'speed'],
    ['--launch', 'rocket'],
    ['--launch', 'local'],
  ])('explains what is wrong with %s %s', async (flag, value) => {
    const outcome = await callCli([
      'tune',
      '-m',
      'm',
      '-u',
      emulator.grpcUrl,
      '-o',
      await freshDirectory(),
      flag,
      value,
    ]);
    expect(outcome).toMatchObject({ code: 2, stderr: oneLine('USAGE', /./) });
  });

  it('takes requests in flight or per second, not both', async () => {
    const outcome = await callCli(tuneAt(emulator.grpcUrl, '--request-rate', '10:20', '-o', await freshDirectory()));
    expect(outcome).toMatchObject({ code: 2, stderr: oneLine('USAGE', /--concurrency and --request-rate/) });
  });

  it('keeps the settings of a study that is resumed, and needs a journal for it', async () => {
    const directory = await freshDirectory();
    await mkdir(join(directory, 'empty'));
    expect(await callCli(['tune', '--resume', join(directory, 'empty')])).toMatchObject({
      code: 2,
      stderr: oneLine('JOURNAL_INVALID', /journal/),
    });
    expect(await callCli(['tune', '--resume', directory, '--seed', '4'])).toMatchObject({
      code: 2,
      stderr: oneLine('USAGE', /seed/),
    });
  });
});

describe('runs that end otherwise', { timeout: 180_000 }, () => {
  it('exits with 3 when nothing meets the budget, and still reports the nearest', async () => {
    const output = await freshDirectory();
    const outcome = await callCli(tuneAt(emulator.grpcUrl, '--latency-budget', '0.5', '-o', output));
    expect(outcome).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('No config that was tried meets p99 ≤ 0.5 ms'),
    });
    const summary = await summaryOf(output);
    expect(summary).toMatchObject({ feasible: false, restored: { verified: true } });
    expect(summary.best?.throughput.value).toBeGreaterThan(0);
  });

  it('tunes by request rate', async () => {
    const output = await freshDirectory();
    const args = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--max-trials', '1', '--precision', '20', '-o', output];
    const outcome = await callCli([...args, '--request-rate', '200:400', '--latency-budget', '1000']);
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/at [\d.]+ requests\/s, p99/) });
    const { best } = await summaryOf(output);
    const { mode, value = 0 } = best?.load ?? {};
    expect(mode).toBe('request-rate');
    // All that was due, but for what a stall of a busy machine leaves over at the end of a window;
    // more than was due nobody can serve.
    const served = best?.throughput.value ?? 0;
    expect(served / value).toBeGreaterThan(0.75);
    expect(served / value).toBeLessThanOrEqual(1);
    expect(best?.openLoop?.scheduledLatencyMs.p99).toBeGreaterThanOrEqual(best?.latencyMs.p50 as number);
    const records = await recordsOf(output);
    expect(records[0]).toMatchObject({ levels: { mode: 'request-rate', low: 200, high: 400 } });
    const levels = records.flatMap((each) => (each.type === 'trial-measured' ? [each.measurement.level.value] : []));
    expect(levels.every((level) => level >= 200 && level <= 400)).toBe(true);
  });

  it('lets no second run write to the output directory of the first', async () => {
    const output = await freshDirectory();
    const first = startCli(tuneAt(emulator.grpcUrl, '-o', output));
    await untilRecorded(output, first, ({ type }) => type === 'study-started');
    const second = await callCli(tuneAt(emulator.grpcUrl, '-o', output));
    expect(second).toMatchObject({ code: 2, stderr: oneLine('OUTPUT_LOCKED', /./) });
    const resumed = await callCli(['tune', '--resume', output]);
    expect(resumed).toMatchObject({ code: 2, stderr: oneLine('OUTPUT_LOCKED', /./) });
    expect((await first.ended).code).toBe(0);
    const third = await callCli(tuneAt(emulator.grpcUrl, '-o', output));
    expect(third).toMatchObject({ code: 2, stderr: oneLine('OUTPUT_EXISTS', /--resume/) });
  });

  it('gives one JSON object per line with --ui json, and the documents at the end', async () => {
    const output = await freshDirectory();
    const outcome = await runCli(tuneAt(emulator.grpcUrl, '--ui', 'json', '-o', output));
    const events = outcome.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; summary?: unknown });
    expect(events[0]).toMatchObject({ type: 'study-started', server: { emulated: 'small' } });
    expect(events.at(-1)).toMatchObject({ type: 'documents-written', summary: await summaryOf(output) });
    await rm(join(output, 'summary.json'));
    expect((await runCli(['report', output])).code).toBe(0);
    expect(await summaryOf(output)).toEqual(events.at(-1)?.summary);
  });

  it('says in a dry run how long it takes, in plain words', async () => {
    const dry = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--dry-run'];
    const { stdout } = await callCli([...dry, '--latency-budget', '50']);
    expect(stdout).toMatch(/^sampler queueing: about \d+ measurements$/m);
    expect(stdout).toMatch(/^expected: about [\d.]+ s \(a single request .*; nothing was changed\n/m);
    const unsure = 'depending on the results, it may take half or twice as long';
    const hill = await callCli([...dry, '--sampler', 'hill-climb', '--max-trials', '3']);
    expect(hill.stdout).toMatch(/^sampler hill-climb: up to 3 trials, about \d+ measurements$/m);
    expect(hill.stdout).toContain(unsure);
    expect(stdout).not.toContain(unsure);
  });

  it('changes nothing in a dry run', async () => {
    const cwd = await freshDirectory();
    const outcome = await runCli(['tune', '-m', 'm', '-u', emulator.grpcUrl, '--dry-run'], { cwd });
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/valid candidates[\s\S]*expected: /) });
    expect(await readdir(cwd)).toEqual([]);
  });

  it('says in a dry run what a load takes, where the metrics of the server tell of the last one', async () => {
    const at = (metricsUrl: string) =>
      callCli(['tune', '-m', 'm', '-u', emulator.grpcUrl, '--metrics-url', metricsUrl, '--dry-run']);
    expect((await at(emulator.metricsUrl)).stdout).toMatch(/expected: .*a load of the model takes 20 ms/);
    expect((await at('http://127.0.0.1:1/metrics')).stdout).toMatch(/expected: .*assuming 300 ms for each load/);
  });

  it('goes on with a killed run without repeating a finished trial', async () => {
    const output = await freshDirectory();
    const first = startCli(tuneAt(emulator.grpcUrl, '--max-trials', '2', '-o', output));
    await untilRecorded(output, first, (record) => record.type === 'trial-finished' && record.trial === 0);
    first.child.kill('SIGKILL');
    await first.ended;
    const resumed = await callCli(['tune', '--resume', output]);
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    const finished = (await recordsOf(output)).flatMap((record) =>
      record.type === 'trial-finished' ? [record.trial] : [],
    );
    // The original config is visited again at the end, and where the machine's speed changed.
    expect(finished[0]).toBe(0);
    expect(finished.filter((trial) => trial !== 0)).toEqual([1, 2]);
  });
});
