import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { type Metric, type SamplerDefinition, type TuneOptions, tune } from '#library/index.ts';
import { callCli } from '../support/call-cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
afterAll(() => emulator.close());

const quick: TuneOptions = { model: 'm', url: emulator.grpcUrl, concurrency: { low: 1, high: 2 }, precision: 20 };

/** Tries the first candidate that was not tried, up to a number of them. */
const firstOf = (most: number): SamplerDefinition => ({
  name: 'in-order',
  create: (space) => ({
    ask: ({ trials }) => {
      const tried = new Set(trials.map(({ candidate }) => candidate.fingerprint));
      for (const assignment of trials.length > most ? [] : space.assignments()) {
        const built = space.build(assignment);
        if (built.legal && !tried.has(built.candidate.fingerprint))
          return { kind: 'trial', assignment, levels: { kind: 'fixed', values: [2] } };
      }
      return { kind: 'stop', reason: 'that is enough' };
    },
  }),
});

const spread: Metric = {
  name: 'latency-spread',
  label: 'latency spread',
  description: 'p99 over p50',
  unit: '',
  units: {},
  better: 'lower',
  interval: null,
  needs: [],
  read: ({ latencyMs: { p50, p99 } }) => p99 / p50,
};

describe("parts of the program's own", { timeout: 180_000 }, () => {
  it('are a sampler and a metric, in the search, the summary and the documents, and when the study goes on', async () => {
    const output = await freshDirectory();
    const own = { sampler: firstOf(2), metrics: [spread] };
    const summary = await tune({ ...quick, ...own, constraint: ['latency-spread<=1000'], output });
    expect(summary).toMatchObject({ feasible: true, stopReason: expect.stringMatching(/^that is enough/) });
    expect(summary.counts.trials).toBe(3);
    const [head, first] = (await readFile(join(output, 'results.csv'), 'utf8'))
      .split('\n')
      .map((line) => line.split(','));
    const column = head?.findIndex((name) => /latency.spread/.test(name)) ?? -1;
    expect(Number(first?.[column])).toBeGreaterThanOrEqual(1);
    expect(await readFile(join(output, 'journal.jsonl'), 'utf8')).toContain('"sampler":"in-order"');
    await expect(tune({ resume: output, url: emulator.grpcUrl, ...own })).resolves.toMatchObject({ feasible: true });
    // Nobody else knows the metric, nor the sampler.
    await expect(tune({ resume: output, url: emulator.grpcUrl })).rejects.toMatchObject({
      code: 'JOURNAL_INVALID',
      message: expect.stringContaining('latency-spread'),
    });
  });

  it('are a study as one value, with options before it', async () => {
    const output = await freshDirectory();
    const spec = { model: 'm', server: { url: 'nowhere:1' }, levels: { concurrency: { low: 1, high: 2 } }, output };
    const study = { spec: { ...spec, measurement: { precisionPercent: 20 } }, url: emulator.grpcUrl, maxTrials: 1 };
    await expect(tune(study)).resolves.toMatchObject({ model: 'm', feasible: true, counts: { trials: 2 } });
    expect(await summaryOf(output)).toMatchObject({ feasible: true });
    await expect(tune({ spec: { ...spec, modle: 1 } as never })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('are a sampler in a module, by its path', async () => {
    const output = await freshDirectory();
    const module = join(await freshDirectory(), 'sampler.mjs');
    const args = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--concurrency', '1:2', '--precision', '20'];
    await writeFile(
      module,
      "export const sampler = { name: 'none', create: () => ({ ask: () => ({ kind: 'stop', reason: 'no more' }) }) };",
    );
    expect(await callCli([...args, '--sampler', module, '-o', output])).toMatchObject({ code: 0, stderr: '' });
    expect(await summaryOf(output)).toMatchObject({ counts: { trials: 1 }, stopReason: 'no more' });
    const empty = join(await freshDirectory(), 'empty.mjs');
    await writeFile(empty, 'export const other = 1;');
    expect(await callCli([...args, '--sampler', empty, '-o', await freshDirectory()])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/INPUT_INVALID: .*exports no sampler/),
    });
  });
});
