import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import type { SeriesSummary } from '#study/summary/summary-schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, seriesProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: seriesProfile('a', 'b') });
const client = connectGrpc(emulator.grpcUrl);
const original = { a: await client.modelConfig('a'), b: await client.modelConfig('b') };
afterAll(async () => {
  await client.close();
  await emulator.close();
});

const isOriginal = async (model: 'a' | 'b') =>
  compareConfigs(original[model], await client.modelConfig(model)).length === 0;

const ready = async () => (await client.index()).filter(({ state }) => state === 'READY').map(({ name }) => name);

const quick = ['--concurrency', '1', '--max-trials', '1', '--precision', '50'];
const tuneAt = (url: string, ...more: string[]) => ['tune', '-u', url, ...quick, ...more];

const seriesOf = async (directory: string): Promise<SeriesSummary> =>
  JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8')) as SeriesSummary;

const endings = async (directory: string) =>
  (await seriesOf(directory)).models.map(({ model, exitCode, error }) => [model, exitCode, error?.code ?? null]);

const finished = async (directory: string): Promise<number[]> =>
  (await recordsOf(directory)).flatMap((record) => (record.type === 'trial-finished' ? [record.trial] : []));

const startOf = async (directory: string) => {
  const [first] = await recordsOf(directory);
  return first?.type === 'study-started' ? first : null;
};

describe('several models in a run', { timeout: 120_000 }, () => {
  it('have a study each and one summary over all; one that fails keeps no other back, and --resume tries it again', async () => {
    const other = await emulatorForTest({ profile: seriesProfile('flaky', 'b') });
    const unloading = connectGrpc(other.grpcUrl);
    await unloading.unload('flaky');
    await unloading.close();
    const cwd = await freshDirectory();
    const budgets = ['--latency-budget', '500', '--latency-budget', 'b=0.5', '--time-budget', '90s'];
    const args = tuneAt(other.grpcUrl, '-m', 'flaky', '-m', 'b', '--ui', 'json', ...budgets);
    const outcome = await runCli(args, { cwd });
    expect(outcome.code).toBe(4);
    expect(outcome.stderr).toMatch(/^model 1 of 2: flaky\ntritune: LOAD_REFUSED: .*not today.*\nmodel 2 of 2: b\n$/);
    const [run = ''] = await readdir(join(cwd, 'tritune-runs'));
    expect(run).toMatch(/^flaky-b-\d{8}-\d{6}$/);
    const directory = join(cwd, 'tritune-runs', run);
    expect((await readdir(directory)).sort()).toEqual(['b', 'report.html', 'series.json', 'summary.json']);

    const summary = await seriesOf(directory);
    expect(summary.models).toMatchObject([
      { model: 'flaky', directory: 'flaky', feasible: null, best: null, exitCode: 4, error: { code: 'LOAD_REFUSED' } },
      // Nothing is as fast as b's budget asks.
      { model: 'b', directory: 'b', feasible: false, exitCode: 3, error: null },
    ]);
    const [, { best = null, gain = null } = {}] = summary.models;
    const own = await summaryOf(join(directory, 'b'));
    expect(own).toMatchObject({ model: 'b', budget: { latencyMs: 0.5 }, gain });
    const { throughput } = own.best?.compared ?? own.best ?? {};
    expect(best).toMatchObject({ trial: own.best?.trial, throughput });
    // The original is what the server has: there is nothing to emit.
    if (own.best?.trial === own.baseline?.trial) expect(best?.config).toBeNull();
    else expect(await readFile(join(directory, best?.config ?? ''), 'utf8')).toContain('name: "b"');
    const events = outcome.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; model?: string });
    expect(events.at(-1)).toMatchObject({ type: 'series-finished', summary });
    expect(new Set(events.slice(0, -1).map(({ model }) => model))).toEqual(new Set(['b']));
    // All that is left of the time, for the last.
    const { spec } = (await startOf(join(directory, 'b'))) ?? {};
    expect(spec?.limits.timeBudgetSeconds).toBeGreaterThan(45);
    expect(spec?.limits.timeBudgetSeconds).toBeLessThan(90);

    await rm(join(directory, 'summary.json'));
    await rm(join(directory, 'b', 'report.html'));
    expect(await callCli(['report', directory])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('b/report.html'),
    });
    expect((await seriesOf(directory)).models[1]).toEqual(summary.models[1]);
    expect(await readdir(join(directory, 'b'))).toContain('report.html');

    const shown = await callCli(['report', directory, '--ui', 'tui']);
    expect(shown).toMatchObject({ code: 2, stderr: expect.stringMatching(/USAGE: .*several studies.*\/b\)/) });

    const before = await recordsOf(join(directory, 'b'));
    const again = await callCli(['tune', '--resume', directory, '--ui', 'lines']);
    expect(again).toMatchObject({ code: 3, stderr: expect.stringMatching(/^model 1 of 2: flaky\n/) });
    expect(again.stdout).toMatch(/\nresults of the 2 models:\nflaky {2}.*infer\/s at concurrency 1, p99 .*\nb {6}/);
    expect(await recordsOf(join(directory, 'b'))).toEqual(before);
    expect((await startOf(join(directory, 'flaky')))?.goal.budget).toMatchObject({ latencyMs: 500 });
    expect(await endings(directory)).toEqual([
      ['flaky', 0, null],
      ['b', 3, null],
    ]);
  });

  it('are all checked before the first is touched', async () => {
    const output = join(await freshDirectory(), 'run');
    const args = tuneAt(emulator.grpcUrl, '-o', output);
    const [unknown, spaced, seeded] = await Promise.all([
      callCli([...args, '-m', 'a', '-m', 'c']),
      callCli([...args, '-m', 'a,b', '--space', 'b=nowhere.yaml', '-o', `${output}-2`]),
      callCli([...args, '-m', 'a,b', '--latency-budget', 'c=1', '-o', `${output}-3`]),
    ]);
    expect(unknown).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/MODEL_UNKNOWN: model 'c'/) });
    expect(spaced).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/SPACE_INVALID: model 'b'/) });
    expect(seeded).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/USAGE: .*'c'/) });
    for (const directory of [output, `${output}-2`, `${output}-3`]) await expect(readdir(directory)).rejects.toThrow();
  });

  it('are planned by a dry run, and left as they were by an interrupt; --resume tunes what is left', async () => {
    const cwd = await freshDirectory();
    await client.unload('b');
    const planned = await runCli(['tune', '-m', 'a,b', '-u', emulator.grpcUrl, '--dry-run'], { cwd });
    expect(planned.stdout).toMatch(/model 1 of 2: a[\s\S]*model 2 of 2: b[\s\S]*expected in total: /);
    expect(await readdir(cwd)).toEqual([]);
    expect(await ready()).toEqual(['a']);

    const output = join(cwd, 'run');
    const run = startCli(tuneAt(emulator.grpcUrl, '-o', output, '-m', 'a,b', '-H', 'x-key: hush'));
    await untilRecorded(join(output, 'a'), run, (record) => record.type === 'trial-applied' && record.trial === 1);
    run.child.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('the whole run') });
    expect(await endings(output)).toEqual([
      ['a', 130, null],
      ['b', 130, 'INTERRUPTED'],
    ]);
    expect(await isOriginal('a')).toBe(true);
    expect(await ready()).toEqual(['a']);
    expect((await summaryOf(join(output, 'a'))).best?.throughput.value).toBeGreaterThan(0);
    expect((await readdir(output)).sort()).toEqual(['a', 'report.html', 'series.json', 'summary.json']);
    const series = await readFile(join(output, 'series.json'), 'utf8');
    expect(series).toContain('x-key');
    expect(series).not.toContain('hush');
    const changed = await callCli(['tune', '--resume', output, '--seed', '2']);
    expect(changed).toMatchObject({ code: 2, stderr: expect.stringMatching(/USAGE: .*cannot change its --seed/) });
    const bare = await callCli(['tune', '--resume', output]);
    expect(bare).toMatchObject({ code: 2, stderr: expect.stringMatching(/USAGE: .*x-key/) });

    expect(await callCli(['tune', '--resume', output, '-H', 'x-key: hush'])).toMatchObject({ code: 0 });
    expect(await endings(output)).toEqual([
      ['a', 0, null],
      ['b', 0, null],
    ]);
    // The original is visited again at the end, and where the machine's speed changed.
    for (const name of ['a', 'b']) {
      const [first, ...later] = await finished(join(output, name));
      expect([first, ...later.filter((trial) => trial !== 0)]).toEqual([0, 1]);
    }
    // b is loaded for its turn only.
    expect(await ready()).toEqual(['a']);
    await client.load('b');
  });

  it('are put back after a kill, those that were changed; no other run may write there meanwhile', async () => {
    const cwd = await freshDirectory();
    const output = join('tritune-runs', 'killed');
    const directory = join(cwd, output);
    const endless = tuneAt(emulator.grpcUrl, '-o', output, '-m', 'a,b', '--sampler', 'grid', '--max-trials', '300');
    const run = startCli(endless, { cwd });
    await untilRecorded(join(directory, 'a'), run, (record) => record.type === 'trial-applied' && record.trial === 1);
    const second = await callCli(tuneAt(emulator.grpcUrl, '-o', directory, '-m', 'a,b'));
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('OUTPUT_LOCKED') });
    run.child.kill('SIGKILL');
    await run.ended;
    expect(await endings(directory)).toEqual([
      ['a', null, null],
      ['b', null, null],
    ]);
    expect([await isOriginal('a'), await isOriginal('b')]).toEqual([false, true]);
    const single = await callCli(tuneAt(emulator.grpcUrl, '-o', directory, '-m', 'a'));
    expect(single).toMatchObject({ code: 2, stderr: expect.stringContaining('OUTPUT_EXISTS') });
    expect(await runCli(['restore'], { cwd })).toMatchObject({
      code: 0,
      stdout: `${join(output, 'a')}: 'a' has its original config again\n`,
    });
    expect(await isOriginal('a')).toBe(true);
    expect((await callCli(['restore', directory])).stdout).toBe(
      `${join(directory, 'a')}: nothing to do: 'a' has its original config again\n`,
    );
  });
});
