import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type SeriesEvent, type TuneSeriesOptions, tuneSeries } from '#library/index.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { emulatorForTest, seriesProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const quick: TuneSeriesOptions = { concurrency: { low: 1, high: 1 }, maxTrials: 1, precision: 50 };

const writtenIn = async (directory: string): Promise<unknown> =>
  JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8'));

const instancesOf = async (url: string, model: string): Promise<number | undefined> => {
  const client = connectGrpc(url);
  try {
    return (await client.modelConfig(model)).instance_group?.[0]?.count;
  } finally {
    await client.close();
  }
};

describe('a series in the library', { timeout: 180_000 }, () => {
  it('tunes each model with its options, goes on after one that fails, and continues that one later', async () => {
    const emulator = await emulatorForTest({ profile: seriesProfile('flaky', 'b') });
    const unloading = connectGrpc(emulator.grpcUrl);
    await unloading.unload('flaky');
    await unloading.close();
    const output = await freshDirectory();
    const events: SeriesEvent[] = [];
    const summary = await tuneSeries(
      {
        ...quick,
        url: emulator.grpcUrl,
        output,
        latencyBudget: 500,
        timeBudget: 90,
        models: ['flaky', { model: 'b', latencyBudget: 0.5 }],
      },
      { onEvent: (event) => events.push(event) },
    );
    expect(summary.models).toMatchObject([
      { model: 'flaky', feasible: null, exitCode: 4, error: { code: 'LOAD_REFUSED' } },
      // Nothing is as fast as b's budget asks.
      { model: 'b', feasible: false, exitCode: 3, error: null },
    ]);
    expect(await writtenIn(output)).toEqual(summary);
    expect(events.at(-1)).toEqual({ type: 'series-finished', directory: output, summary });
    const written = events.find((event) => event.type === 'documents-written');
    expect(written).toMatchObject({ model: 'b', summary: { budget: { latencyMs: 0.5 } } });
    expect((await recordsOf(join(output, 'b')))[0]).toMatchObject({ type: 'study-started', commandLine: [] });
    const { models } = await tuneSeries({ resume: output, url: emulator.grpcUrl });
    expect(models).toMatchObject([
      { model: 'flaky', feasible: true, exitCode: 0, error: null },
      { model: 'b', feasible: false, exitCode: 3 },
    ]);
  });

  it('ends in order when the signal aborts, and rejects with an error of the caller at its end', async () => {
    const emulator = await emulatorForTest({ profile: seriesProfile('a', 'b') });
    const output = await freshDirectory();
    const controller = new AbortController();
    const fault = new Error('of the caller');
    const running = tuneSeries(
      { ...quick, url: emulator.grpcUrl, output, models: ['a', 'b'] },
      {
        signal: controller.signal,
        onEvent: (event) => {
          if (event.type !== 'trial-applied' || event.trial !== 1) return;
          controller.abort();
          throw fault;
        },
      },
    );
    await expect(running).rejects.toBe(fault);
    expect(await writtenIn(output)).toMatchObject({
      models: [
        { model: 'a', exitCode: 130, error: null },
        { model: 'b', exitCode: 130, error: { code: 'INTERRUPTED' } },
      ],
    });
    expect(await instancesOf(emulator.grpcUrl, 'a')).toBe(1);
  });

  it.each<[string, object, RegExp]>([
    ['no models', {}, /the models are missing/],
    ['a model twice', { models: ['a', 'b', 'a'] }, /models has 'a' twice/],
    ['an option that there is none of', { models: ['a'], ui: 'tui' }, /tuneSeries\(\) has no option 'ui'/],
    ['several servers', { models: ['a', { model: 'b', url: 'localhost:2' }] }, /have one server/],
    ['an adapter', { models: ['a', 'b'], adapter: './adapter.mjs' }, /works with one model only/],
    ['models of a series to resume', { models: ['a'], resume: 'nowhere' }, /has its models/],
    ['a directory of no series', { resume: 'nowhere' }, /holds no series/],
  ])('refuses %s', async (_, options, message) => {
    const given: TuneSeriesOptions = { url: 'localhost:1', protocol: 'grpc', ...options };
    await expect(tuneSeries(given)).rejects.toMatchObject({ code: 'USAGE', message: expect.stringMatching(message) });
  });
});
