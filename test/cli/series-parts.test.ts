import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { exitCodes, worstExitCode } from '#app/exit-codes.ts';
import { directoriesFor, readSeriesFile, studiesIn, writeSeriesFile } from '#app/study/series-directory.ts';
import { takeTurns } from '#app/study/series-turns.ts';
import { timeShares } from '#app/study/tune-series.ts';
import { VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { seriesOptionTable } from '#cli/commands/tune/series-options.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { modelsIn, type SeriesOptions } from '#spec/series-fields.ts';
import { optionsFor, toSeries } from '#spec/series-options.ts';
import { freshDirectory } from '../support/run-directory.ts';

const parse = (...args: string[]): SeriesOptions => {
  const command = addOptions(new Command(), seriesOptionTable)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: 'user' }).opts();
};

describe('the options of a series', () => {
  it.each([[['-m', 'a', '-m', 'b']], [['-m', 'a,b']], [['-m', 'a, b,', '-m', 'a']]])('take models as %j', (args) => {
    expect(modelsIn(parse(...args))).toEqual(['a', 'b']);
  });

  it('are those of a single study for a single model', () => {
    const options = optionsFor(
      parse('-m', 'a', '--space', 'base', '--latency-budget', '8', '--constraint', 'x<=1'),
      'a',
    );
    expect(options).toMatchObject({ model: 'a', space: 'base', latencyBudget: 8, constraint: ['x<=1'] });
    const bare = optionsFor(parse('-m', 'a'), 'a');
    expect(Object.keys(bare)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(space|candidates|latencyBudget|inputData|constraint)$/)]),
    );
  });

  it("give a model its own values, and the others those for all; another '=' is part of the text", () => {
    const series = parse(
      ...['-m', 'a,b=c', '--latency-budget', '8', '--latency-budget', 'b=c=2.5', '--space', 'a=own.yaml'],
      ...['--space', 'x=y.yaml', '--input-data', 'b=c=1.json', '--input-data', 'b=c=2.json', '--input-data', 'zero'],
      ...['--shape', 'x:1,2', '--shape', 'b=c=y:3', '--shape', 'a=x:4'],
      ...['--constraint', 'a=latency_p50_ms<=1', '--constraint', 'error_rate<=0.5'],
    );
    expect(optionsFor(series, 'a')).toMatchObject({
      latencyBudget: 8,
      space: 'own.yaml',
      inputData: ['zero'],
      constraint: ['latency_p50_ms<=1'],
      shape: { x: [4] },
    });
    expect(optionsFor(series, 'b=c')).toMatchObject({
      latencyBudget: 2.5,
      space: 'x=y.yaml',
      inputData: ['1.json', '2.json'],
      constraint: ['error_rate<=0.5'],
      shape: { x: [1, 2], y: [3] },
    });
  });

  it('refuse a budget of a model that is not tuned, and one that is no number', () => {
    expect(() => optionsFor(parse('-m', 'a,b', '--latency-budget', 'c=1'), 'a')).toThrow(TrituneError);
    expect(() => parse('-m', 'a,b', '--latency-budget', 'a=fast')).toThrow(/not a latency/);
  });
});

describe('the directory of a series', () => {
  it('has a name of its own for every model, harmless and not taken by anything else', () => {
    const models = ['a/b', 'a_b', 'A_B', '..', 'server', 'summary.json', 'series.json', 'x'.repeat(300)];
    const names = directoriesFor(models).map(({ directory }) => directory);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(models.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/);
    expect(names).not.toEqual(expect.arrayContaining(['server']));
    expect(names).not.toEqual(expect.arrayContaining(['summary.json']));
  });

  it('names the studies that have begun; a directory without series.json is a study itself', async () => {
    const directory = await freshDirectory();
    expect(await studiesIn(directory)).toEqual([directory]);
    await writeSeriesFile(directory, {
      models: directoriesFor(['a', 'b']),
      spec: toSeries({ model: ['a', 'b'] }),
      commandLine: [],
    });
    for (const name of ['a', 'b']) await mkdir(join(directory, name));
    await writeFile(join(directory, 'a', 'journal.jsonl'), '');
    await writeFile(join(directory, 'b', 'journal.jsonl'), '{}\n');
    expect(await studiesIn(directory)).toEqual([join(directory, 'b')]);
    const again = writeSeriesFile(directory, {
      models: directoriesFor(['a']),
      spec: toSeries({ model: ['a'] }),
      commandLine: [],
    });
    await expect(again).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
  });

  it.each([['../elsewhere'], ['a/b'], ['..'], ['']])('believes no series.json that leads to %j', async (place) => {
    const directory = await freshDirectory();
    const models = [{ model: 'a', directory: place }];
    const file = { schemaVersion: 2, models, spec: toSeries({ model: ['a'] }), commandLine: [] };
    await writeFile(join(directory, 'series.json'), JSON.stringify({ ...file, trituneVersion: '1' }));
    await expect(readSeriesFile(directory)).rejects.toMatchObject({ code: 'JOURNAL_INVALID' });
  });
});

describe('the time of a series', () => {
  it('is shared alike among the models that are left, with what the ones before did not use', () => {
    const clock = new VirtualClock();
    const turns = [{ spentSeconds: 0 }, { spentSeconds: 0 }, { spentSeconds: 0 }] as const;
    const { computeShare } = timeShares(90, turns, clock);
    expect(computeShare(turns[0], 3)).toBe(30);
    clock.advance(10_000);
    expect(computeShare(turns[1], 2)).toBe(40);
    clock.advance(100_000);
    expect(computeShare(turns[2], 1)).toBe(0);
  });

  it('counts what earlier runs took, which is part of the limit of a study that goes on', () => {
    const turns = [{ spentSeconds: 20 }, { spentSeconds: 10 }, { spentSeconds: 0 }] as const;
    const { computeShare } = timeShares(90, turns, new VirtualClock());
    // 60 s are left, for the second and the third.
    expect(computeShare(turns[1], 2)).toBe(40);
    expect(computeShare(turns[2], 2)).toBe(30);
    expect(timeShares(undefined, turns, new VirtualClock()).computeShare(turns[0], 3)).toBeUndefined();
  });
});

it('exits with the worst code of its models', () => {
  const { done, infeasible, usage, server, internal, interrupted } = exitCodes;
  const worstLast = [done, infeasible, usage, server, internal, interrupted];
  for (let count = 1; count <= worstLast.length; count++) {
    expect(worstExitCode(worstLast.slice(0, count))).toBe(worstLast[count - 1]);
    expect(worstExitCode(worstLast.slice(0, count).reverse())).toBe(worstLast[count - 1]);
  }
  expect(worstExitCode([])).toBe(done);
});

describe('turns', () => {
  const fine = { exitCode: 0, error: null };
  const failed = { exitCode: 4, error: { code: 'LOAD_REFUSED', message: 'no' } };

  /** Takes four turns; `second` is what the second comes to. */
  async function played(second: (control: AbortController) => typeof fine | typeof failed, answers = true) {
    const control = new AbortController();
    const taken: [string, number][] = [];
    const codes: (number | null)[] = [];
    const errors: (string | undefined)[] = [];
    await takeTurns(
      ['a', 'b', 'c', 'd'],
      {
        take: async (turn, left) => {
          taken.push([turn, left]);
          return turn === 'b' ? second(control) : fine;
        },
        answers: async () => answers,
        onEnd: async (_, { exitCode, error }) => {
          codes.push(exitCode);
          errors.push(error?.code);
        },
      },
      control.signal,
    );
    return { taken: taken.map(([turn]) => turn), left: taken.map(([, left]) => left), codes, errors };
  }

  it('are all taken though one fails, as long as the server answers', async () => {
    expect(await played(() => failed)).toMatchObject({
      taken: ['a', 'b', 'c', 'd'],
      left: [4, 3, 2, 1],
      codes: [0, 4, 0, 0],
    });
  });

  it('end when one fails and the server is gone; nobody asks after one that went well', async () => {
    expect(await played(() => failed, false)).toMatchObject({
      taken: ['a', 'b'],
      codes: [0, 4, 4, 4],
      errors: [undefined, 'LOAD_REFUSED', 'SERVER_UNREACHABLE', 'SERVER_UNREACHABLE'],
    });
    expect(await played(() => fine, false)).toMatchObject({ codes: [0, 0, 0, 0] });
  });

  it('end with an interrupt, and each says so', async () => {
    const interrupt = (control: AbortController) => {
      control.abort();
      return { exitCode: 130, error: null };
    };
    expect(await played(interrupt)).toMatchObject({
      taken: ['a', 'b'],
      codes: [0, 130, 130, 130],
      errors: [undefined, undefined, 'INTERRUPTED', 'INTERRUPTED'],
    });
  });
});
