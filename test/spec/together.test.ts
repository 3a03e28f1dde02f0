import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type SeriesFlags, seriesOptionTable } from '#cli/commands/tune/series-options.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { toStudyOrSeries } from '#spec/series-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';

/** The study that the command line asks for. */
function studyOf(...argv: string[]): StudySpec {
  const command = addOptions(new Command(), seriesOptionTable).parse(argv, { from: 'user' });
  return toStudyOrSeries(command.opts<SeriesFlags>()) as StudySpec;
}

describe('models that are tuned together', () => {
  it('are one study, each with its part of the level, its budget, space and requests', () => {
    const given = ['--mix', 'a=3,b=1', '--mix', 'c=40/s', '--latency-budget', 'a=10,b=25', '--input-data', 'zero'];
    const own = ['--input-data', 'b=b.json', '--shape', 'b=x:3,4', '--shape', 'y:5', '--space', 'c=python'];
    expect(studyOf('--together', 'a,b,c', ...given, ...own, '--constraint', 'b=latency-p50<=4')).toMatchObject({
      model: 'a',
      together: {
        models: ['a', 'b', 'c'],
        mix: { a: { share: 3 }, b: { share: 1 }, c: { requestsPerSecond: 40 } },
        requests: { b: { inputData: ['b.json'], shape: { x: [3, 4] } } },
      },
      goal: { modelBudgetsMs: { a: 10, b: 25 }, constraints: ['latency-p50@b<=4'] },
      space: { members: { c: 'python' } },
      traffic: { inputData: ['zero'], shape: { y: [5] } },
    });
    expect(studyOf('-m', 'z', '--together', 'a,b', '--latency-budget', '9')).toMatchObject({
      model: 'z',
      together: { models: ['z', 'a', 'b'] },
      goal: { latencyBudgetMs: 9 },
    });
  });

  it('may be called by BLS, by the study’s model or another', () => {
    const calls = (...argv: string[]) => studyOf('-m', 'front', ...argv).together?.blsComposing;
    expect(calls('--bls-composing', 'a,b', '--bls-composing', 'c')).toEqual({ front: ['a', 'b', 'c'] });
    expect(calls('--bls-composing', 'inner=a, b')).toEqual({ inner: ['a', 'b'] });
    expect(calls()).toBeUndefined();
  });

  it('are named in what is given for one of them', () => {
    expect(() => studyOf('--together', 'a,b', '--mix', 'c=1')).toThrow(/'c' is not among the models/);
    expect(() => studyOf('--together', 'a,b', '--latency-budget', 'c=1')).toThrow(/'c' is not among the models/);
    expect(() => studyOf('--together', 'a,b', '--space', 'base', '--space', 'a=python')).toThrow(
      /for all models, base/,
    );
    expect(() => studyOf('--together', 'a')).toThrow(/together.models/);
  });
});
