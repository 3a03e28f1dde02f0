import { describe, expect, it } from 'vitest';
import { jointToJson } from '#space/joint/definition.ts';
import { joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { foldStudy } from '#study/records/fold.ts';
import { handChoices, toAssignment, verdictOn, withNextValue } from '#tui/by-hand.ts';
import { computeSize, listParameters, narrowBy } from '#tui/parameters.ts';
import { goalOf, originalConfig, studyStarted } from '../study/builders.ts';

const models = { encoder: { ...originalConfig, name: 'encoder' }, head: { ...originalConfig, name: 'head' } };
const original = jointOriginal(models, {}, 'encoder');
const spaces = {
  encoder: spaceFromJson({ parameters: { instances: [1, 2] } }),
  head: spaceFromJson({
    parameters: {
      max_batch_size: [1, 4],
      dynamic_batching: { values: ['off', 'on'], when: { max_batch_size: { above: 1 } } },
    },
  }),
};
const fronts = [{ model: 'encoder', steps: [{ stage: 'encoder' }] }];
const study = foldStudy([
  studyStarted(goalOf(8), {
    original,
    space: jointToJson(joinSpaces(spaces, original, 'encoder')),
    topology: { fronts, stages: ['encoder', 'head'] },
  }),
]);

describe('the search space of several models on the screen', () => {
  it('has the parameters of all, by model, and is narrowed by them', () => {
    expect(listParameters(study).map(({ parameter, values }) => [parameter.name, values])).toEqual([
      ['encoder/instances', [1, 2]],
      ['head/max_batch_size', [1, 4]],
      ['head/dynamic_batching', [false, true]],
    ]);
    expect(computeSize(study, {})).toBe(2 * 3);
    expect(narrowBy(study, {}, { row: 1, column: 0 }, 'pin')).toEqual({
      narrowing: { 'head/max_batch_size': { pinned: 1 } },
      message: 'head/max_batch_size is pinned to 1 from the next trial on',
    });
    expect(computeSize(study, { 'head/max_batch_size': { pinned: 1 } })).toBe(2);
  });

  it('takes a candidate by hand, in which one model’s values depend on its own alone', () => {
    const large = withNextValue(study, { 'encoder/instances': 2, 'head/max_batch_size': 1 }, 1, 1);
    expect(large).toEqual({ 'encoder/instances': 2, 'head/max_batch_size': 4 });
    expect(handChoices(study, large).map(({ applies }) => applies)).toEqual([true, true, true]);
    const small = { 'head/max_batch_size': 1, 'head/dynamic_batching': true };
    expect(toAssignment(study, small)).toEqual({ 'head/max_batch_size': 1 });
    expect(verdictOn(study, large)).toMatchObject({ legal: true, candidate: { assignment: large } });
  });
});
