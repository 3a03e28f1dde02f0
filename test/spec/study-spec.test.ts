import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { readSpec } from '#app/study/read-spec.ts';
import { tuneFleetOptionTable } from '#cli/commands/tune/fleet-options.ts';
import { type SeriesFlags, seriesOptionTable } from '#cli/commands/tune/series-options.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { toStudyOrSeries } from '#spec/series-options.ts';
import { specFileSchema } from '#spec/series-spec.ts';
import { changedSpec, studyOptionNames, toSpec } from '#spec/spec-of-options.ts';
import { checkStudySpec, specToJson } from '#spec/study-spec.ts';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const published = resolve(import.meta.dirname, '../../docs/study.schema.json');

/** What other options give by a model's name: --latency-budget, --input-data and --shape. */
const ofOthers = ['modelBudgets', 'modelRequests'];
/**
 * What is no part of a study, but of how the command shows it, goes on with it, is told it, or has
 * others do it.
 */
const ofTheCommand = [
  ...['ui', 'otlp', 'resume', 'dryRun', 'verbose', 'spec', 'set', 'printSpec', 'modelAnalyzerConfig', 'trustRun'],
  ...Object.keys(tuneFleetOptionTable),
];

describe('a study spec', () => {
  it('has defaults for all but the model', () => {
    const spec = checkStudySpec({ model: 'm' }, 'it');
    expect(spec).toMatchObject({
      specVersion: 1,
      server: { protocol: 'grpc', restore: 'config' },
      goal: { percentile: 99, constraints: [] },
      traffic: { batch: 1 },
      measurement: { precisionPercent: 3, stability: 'interval', allowForeignTraffic: false },
      seed: 1,
    });
    expect(checkStudySpec(specToJson(spec), 'it')).toEqual(spec);
  });

  it('is the same by options as by a file', () => {
    const options: Parameters<typeof toSpec>[0] = {
      model: 'm',
      url: 'a:1',
      tlsCa: 'ca.pem',
      launch: undefined,
      latencyBudget: 8,
      protocol: 'http',
      sharedMemory: 'system',
      constraint: ['gpu-memory<=8000'],
      concurrency: { low: 1, high: 8 },
      shape: { x: [3, 4] },
      leastGain: 5,
      timeBudget: 60,
      loadTimeout: 90,
      precision: 5,
      trace: true,
      seed: 7,
    };
    expect(toSpec(options)).toEqual(
      checkStudySpec(
        {
          model: 'm',
          server: { url: 'a:1', protocol: 'http', tlsCa: 'ca.pem' },
          goal: { latencyBudgetMs: 8, constraints: ['gpu-memory<=8000'] },
          levels: { concurrency: { low: 1, high: 8 } },
          traffic: { shape: { x: [3, 4] }, sharedMemory: 'system' },
          sampler: { leastGainPercent: 5 },
          measurement: { precisionPercent: 5 },
          limits: { timeBudgetSeconds: 60, loadTimeoutSeconds: 90 },
          trace: true,
          seed: 7,
        },
        'it',
      ),
    );
  });

  it('has a place for every option of tune that is about the study', () => {
    const about = Object.keys(seriesOptionTable).filter((name) => !ofTheCommand.includes(name));
    expect(studyOptionNames.toSorted()).toEqual([...about, ...ofOthers].toSorted());
  });

  it('of the command without options is what the command line always meant', () => {
    const command = addOptions(new Command(), seriesOptionTable).parse(['-m', 'm'], { from: 'user' });
    expect(toStudyOrSeries(command.opts<SeriesFlags>())).toEqual(
      checkStudySpec({ model: 'm', ...withFlagDefaults }, 'it'),
    );
  });

  it('is changed by the named options alone, which take the place of what says the same', () => {
    const spec = toSpec({
      model: 'm',
      url: 'a:1',
      metricsUrl: 'http://a:2',
      concurrency: { low: 1, high: 8 },
      seed: 3,
    });
    const changed = changedSpec(spec, { launch: 'emulator', requestRate: { low: 5, high: 9 }, seed: 1, maxTrials: 4 }, [
      'launch',
      'requestRate',
      'maxTrials',
    ]);
    expect(changed).toEqual(
      toSpec({ model: 'm', launch: 'emulator', requestRate: { low: 5, high: 9 }, maxTrials: 4, seed: 3 }),
    );
  });

  it.each([
    ['an unknown field', { model: 'm', modle: 1 }, /^it is not a valid study: .*modle/],
    ['an unknown field of a section', { model: 'm', goal: { budget: 8 } }, /goal: .*budget/],
    ['no model', {}, /model/],
    ['a range that ends before it begins', { model: 'm', levels: { concurrency: { low: 4, high: 2 } } }, /levels/],
    ['another version', { model: 'm', specVersion: 2 }, /specVersion/],
    ['a text', 'm', /it is not a valid study/],
  ])('refuses %s', (_, value, words) => {
    expect(() => checkStudySpec(value, 'it')).toThrowError(
      expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(words) }),
    );
  });

  // To bring the file up to date: npx vitest run --project unit test/spec/study-spec.test.ts -u
  it('has the JSON Schema in docs/', async () => {
    await expect(`${JSON.stringify(specFileSchema(), null, 2)}\n`).toMatchFileSnapshot(published);
    expect(JSON.parse(await readFile(published, 'utf8'))).toMatchObject({
      $defs: { study: { required: ['model'] }, series: { required: ['studies'] } },
    });
  });
});

/** Defaults that the command line writes down, and a spec leaves to whoever reads them. */
const withFlagDefaults = { traffic: { compression: 'none', tensorFormat: 'binary', sharedMemory: 'none' } };

describe('--print-spec', () => {
  it('prints a file that --spec reads to the same study, of one model and of several', async () => {
    const directory = await freshDirectory();
    for (const models of ['m', 'a,b']) {
      const args = ['tune', '-m', models, '--latency-budget', '8', '--time-budget', '90s', '--space', 'base'];
      const printed = await callCli([...args, '--print-spec']);
      expect(printed).toMatchObject({ code: 0, stderr: '' });
      const file = join(directory, `${models}.yaml`);
      await writeFile(file, printed.stdout);
      expect(readSpec(file)).toMatchObject(
        models === 'm'
          ? { model: 'm', goal: { latencyBudgetMs: 8 }, limits: { timeBudgetSeconds: 90 }, space: 'base' }
          : { studies: [{ model: 'a', goal: { latencyBudgetMs: 8 } }, { model: 'b' }], timeBudgetSeconds: 90 },
      );
      expect((await callCli(['tune', '--spec', file, '--print-spec'])).stdout).toBe(printed.stdout);
    }
  });

  it('has the options before the file, and refuses other models than the file has', async () => {
    const file = join(await freshDirectory(), 'study.yaml');
    await writeFile(file, 'model: m\ngoal:\n  latencyBudgetMs: 8\nlimits:\n  maxTrials: 5\n');
    const { stdout } = await callCli(['tune', '--spec', file, '--max-trials', '2', '-m', 'n', '--print-spec']);
    expect(stdout).toMatch(/^specVersion: 1\nmodel: n\n/);
    expect(stdout).toMatch(/latencyBudgetMs: 8\n/);
    expect(stdout).toMatch(/maxTrials: 2\n/);
    expect(await callCli(['tune', '--spec', file, '-m', 'a,b'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/already names the models/),
    });
    await writeFile(file, 'model: m\nbudget: 8\n');
    expect(await callCli(['tune', '--spec', file])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/USAGE: .*study\.yaml is not a valid study: .*budget/),
    });
  });
});
