import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { listDifferences } from '#space/differences.ts';
import { buildJoint, expectedMemberTime } from '#space/joint/build-joint.ts';
import { jointFromJson, jointToJson, withinEnsembles } from '#space/joint/definition.ts';
import {
  completeJoint,
  jointAssignments,
  jointSize,
  mostJointPlaces,
  sampleJoint,
} from '#space/joint/enumerate-joint.ts';
import { joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import { jointNeighbours } from '#space/joint/neighbours.ts';
import { toModelConfigs, toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { changesInPlace } from '#space/shape.ts';
import { loadSpace } from '#space/source/load.ts';
import { readJsonSource } from '#space/source/source.ts';
import type { Assignment, Candidate, CandidateOutcome } from '#space/types.ts';
import { jointSpaceView } from '#study/search/samplers/joint-space-view.ts';
import { ensembleMisfit } from '#triton/config/ensemble-fit.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { cpuModel, spaceOf } from '../fixtures.ts';

const encoder: ModelConfig = { ...cpuModel, name: 'encoder' };
const head: ModelConfig = { ...cpuModel, name: 'head', max_batch_size: 4, dynamic_batching: {} };
const pipeline: ModelConfig = {
  name: 'pipeline',
  platform: 'ensemble',
  max_batch_size: 4,
  ensemble_scheduling: { step: [{ model_name: 'encoder' }, { model_name: 'head' }] },
};

const original = jointOriginal({ encoder, head }, { pipeline }, 'pipeline');
const spaces = {
  encoder: spaceOf(`
parameters:
  instances: [1, 2]
  max_batch_size: [1, 8]
  dynamic_batching: { values: [off, on], when: { max_batch_size: { above: 1 } } }
`),
  head: spaceOf('parameters: { instances: [1, 2, 3], threads: { path: parameters.threads, values: [1, 2] } }'),
};
const joint = joinSpaces(spaces, original, 'pipeline');

function legal(outcome: CandidateOutcome): Candidate {
  if (outcome.legal) return outcome.candidate;
  throw new Error(outcome.reason);
}

describe('a joint space', () => {
  it('has the product of the members’ assignments, the last member fastest', () => {
    const all = [...jointAssignments(joint)];
    expect(all).toHaveLength(6 * 6);
    expect(jointSize(joint)).toBe(36);
    expect(new Set(all.map((each) => JSON.stringify(each))).size).toBe(36);
    expect(all.slice(0, 2)).toEqual([
      { 'encoder/max_batch_size': 1, 'encoder/instances': 1, 'head/threads': 1, 'head/instances': 1 },
      { 'encoder/max_batch_size': 1, 'encoder/instances': 1, 'head/threads': 1, 'head/instances': 2 },
    ]);
    const candidates = all.map((each) => legal(buildJoint(joint, each)));
    expect(new Set(candidates.map(({ fingerprint }) => fingerprint)).size).toBe(36);
  });

  it('is listed as far as it is asked for, however large it is', () => {
    const models = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { ...cpuModel, name }]));
    const preset = loadSpace('onnxruntime');
    const large = joinSpaces(
      Object.fromEntries(Object.keys(models).map((name) => [name, preset])),
      jointOriginal(models, {}, 'a'),
      'a',
    );
    const first = jointAssignments(large).next().value as Assignment;
    expect(Object.keys(first).filter((name) => name.startsWith('c/')).length).toBeGreaterThan(2);
    expect(legal(buildJoint(large, sampleJoint(large, seededRandom(1)))).shape.scheduling).toBe('network');
  });

  it('builds the configs of all members', () => {
    const candidate = legal(buildJoint(joint, { 'encoder/instances': 2, 'head/threads': 2 }));
    expect(Object.keys(candidate.value.models as object)).toEqual(['encoder', 'head']);
    expect(candidate.value).toMatchObject({
      models: {
        encoder: { max_batch_size: 8, instance_group: [{ count: 2 }] },
        head: { max_batch_size: 4, instance_group: [{ count: 1 }], parameters: { threads: { string_value: '2' } } },
      },
    });
    expect(candidate.value).not.toHaveProperty('others');
  });

  it('tells the shapes of all, and what holds for the whole', () => {
    const { shape } = legal(buildJoint(joint, { 'encoder/instances': 2, 'head/instances': 3 }));
    expect(shape).toMatchObject({
      scheduling: 'network',
      policy: { instances: 5, maxBatchSize: 4 },
      groups: [{ count: 2 }, { count: 3 }],
      settings: { 'encoder/backend': 'onnxruntime', 'head/backend': 'onnxruntime' },
      members: { encoder: { policy: { instances: 2, maxBatchSize: 8 } }, head: { policy: { instances: 3 } } },
    });
  });

  it('says which changes a server makes in place', () => {
    const shapeOf = (assignment: Assignment) => legal(buildJoint(joint, assignment)).shape;
    expect(changesInPlace(original.shape, shapeOf({ 'head/instances': 3 }))).toBe(true);
    expect(changesInPlace(original.shape, shapeOf({ 'head/instances': 3, 'encoder/max_batch_size': 1 }))).toBe(false);
  });

  it('knows its original, which has the configs to the letter', () => {
    expect(original.value).toEqual({ models: { encoder, head }, others: { pipeline } });
    expect(legal(buildJoint(joint, {})).fingerprint).toBe(original.fingerprint);
    expect(legal(buildJoint(joint, { 'head/instances': 1 })).fingerprint).toBe(original.fingerprint);
  });

  it('names the member of what is wrong', () => {
    const wrong = (assignment: Assignment) => buildJoint(joint, assignment);
    expect(wrong({ 'encoder/max_batch_size': 1, 'encoder/dynamic_batching': true })).toEqual({
      legal: false,
      reason: 'encoder: dynamic_batching does not apply: it needs that max_batch_size is above 1',
    });
    expect(wrong({ 'haed/instances': 1 })).toMatchObject({
      reason: "the search space has no parameter 'haed/instances' (did you mean 'head/instances'?)",
    });
    expect(wrong({ instances: 1 })).toMatchObject({
      reason: "the search space has no parameter 'instances'; a parameter is named MODEL/PARAMETER",
    });
  });

  it('draws and completes legal assignments within what a person has left', () => {
    const narrowing = { 'head/instances': { excluded: [1, 3] }, 'encoder/instances': { pinned: 2 } };
    const view = jointSpaceView(joint, narrowing);
    const random = seededRandom(7);
    for (let draw = 0; draw < 20; draw += 1) {
      expect(view.sample(random)).toMatchObject({ 'head/instances': 2, 'encoder/instances': 2 });
    }
    expect([...view.assignments()]).toHaveLength(6);
    expect(jointSize(joint, narrowing)).toBe(6);
    expect(view.build({ 'head/instances': 1 })).toMatchObject({ legal: false });
    const wanted = { 'head/threads': 2, 'encoder/max_batch_size': 8, 'encoder/dynamic_batching': false };
    expect(view.complete(wanted, random)).toEqual({ ...wanted, 'head/instances': 2, 'encoder/instances': 2 });
    expect(completeJoint(joint, {}, random, { 'head/threads': { excluded: [1, 2] } })).toBeNull();
    expect(jointSize(joint, { 'head/threads': { excluded: [1, 2] } })).toBe(0);
  });

  it('has neighbours that differ in one parameter of one member', () => {
    const here = {
      'encoder/max_batch_size': 1,
      'encoder/instances': 1,
      'head/threads': 1,
      'head/instances': 2,
    };
    expect([...jointNeighbours(joint, here)]).toEqual([
      { ...here, 'encoder/max_batch_size': 8, 'encoder/dynamic_batching': false },
      { ...here, 'encoder/instances': 2 },
      { ...here, 'head/threads': 2 },
      { ...here, 'head/instances': 1 },
      { ...here, 'head/instances': 3 },
    ]);
    expect([...jointNeighbours(joint, here, { 'head/instances': { pinned: 2 } })]).toHaveLength(3);
  });

  it('sums the samples that its members execute at once', () => {
    const alone = Object.entries(spaces).map(([model, space]) =>
      mostPlaces(space, toOriginal(model === 'head' ? head : encoder)),
    );
    expect(mostJointPlaces(joint)).toBe((alone[0] as number) + (alone[1] as number));
  });

  it('expects of each member what its space does', () => {
    const expecting = spaceOf(
      'parameters: { instances: [1], threads: { path: parameters.threads, values: [1, 2], expects: { 1: 3 } } }',
    );
    const other = joinSpaces({ encoder: spaces.encoder, head: expecting }, original, 'pipeline');
    const candidate = legal(buildJoint(other, { 'head/threads': 1 }));
    expect(['head', 'encoder'].map((model) => expectedMemberTime(other, candidate, model))).toEqual([3, 1]);
    expect(jointSpaceView(other).expectedTime?.(candidate, 'head')).toBe(3);
    expect(jointSpaceView(joint).expectedTime).toBeUndefined();
  });

  describe('with rules over several members', () => {
    const source = (rules: object[], limits = {}) => readJsonSource('my.yaml', { limits, rules } as JsonObject);
    const ruled = (require: string, limits = {}, when = {}) =>
      joinSpaces(
        spaces,
        original,
        'pipeline',
        source([{ require, message: 'too many', ...(Object.keys(when).length > 0 && { when }) }], limits),
      );
    const cores = ruled('encoder.instances + head.instances * head.threads <= limits.cores', { cores: 4 });
    const coresOf = (each: Assignment): number =>
      Number(each['encoder/instances']) + Number(each['head/instances']) * Number(each['head/threads']);

    it('builds, lists, counts, draws and changes nothing that breaks them', () => {
      expect(buildJoint(cores, { 'head/instances': 3, 'head/threads': 2 })).toEqual({
        legal: false,
        reason: 'too many',
      });
      expect(buildJoint(cores, {}).legal).toBe(true);
      const all = [...jointAssignments(cores)];
      const expected = [...jointAssignments(joint)].filter((each) => coresOf(each) <= 4);
      expect(all).toEqual(expected);
      expect(all.length).toBeLessThan(36);
      expect(jointSize(cores)).toBe(all.length);
      const random = seededRandom(3);
      for (let draw = 0; draw < 50; draw++) expect(coresOf(sampleJoint(cores, random))).toBeLessThanOrEqual(4);
      const edge = all.find((each) => coresOf(each) === 4) as Assignment;
      for (const next of jointNeighbours(cores, edge)) expect(coresOf(next)).toBeLessThanOrEqual(4);
    });

    it('counts what an assignment leaves as the base config has it, and looks at new and base configs', () => {
      expect(buildJoint(ruled('head.instances > 1'), { 'encoder/instances': 2 }).legal).toBe(false);
      expect(buildJoint(ruled('head.config.max_batch_size == 4'), { 'encoder/instances': 2 }).legal).toBe(true);
      expect(buildJoint(ruled('encoder.config.max_batch_size > 1'), { 'encoder/max_batch_size': 1 }).legal).toBe(false);
      expect(buildJoint(ruled('members["head"].base.max_batch_size > 4'), { 'head/threads': 1 }).legal).toBe(false);
      const onlyFew = ruled('head.instances > 1', {}, { 'encoder.instances': { below: 2 } });
      expect(buildJoint(onlyFew, { 'encoder/instances': 2, 'head/instances': 1 }).legal).toBe(true);
      expect(buildJoint(onlyFew, { 'encoder/instances': 1, 'head/instances': 1 }).legal).toBe(false);
    });

    it('says what it cannot read, and where nothing is left', () => {
      expect(() => ruled('hed.instances > 1')).toThrow(
        /rules\[0\].require: 'hed.instances' does not name a model of the study/,
      );
      expect(() => ruled('instances > 1')).toThrow(/does not name a model of the study; begin it with encoder/);
      expect(() => ruled('head.instnces > 1')).toThrow(/there is no parameter 'instnces'.*instances/);
      expect(() => ruled('head.instances > limits.cores')).toThrow(/there is no limit 'cores'/);
      const nothing = ruled('head.instances > 99');
      expect(jointSize(nothing)).toBe(0);
      expect(() => sampleJoint(nothing, seededRandom(1))).toThrow(/no combination of candidates keeps the rules/);
    });

    it('is the same after the journal', () => {
      const read = jointFromJson(JSON.parse(JSON.stringify(jointToJson(cores))), original, 'pipeline');
      expect([...jointAssignments(read)]).toEqual([...jointAssignments(cores)]);
    });
  });

  it('is the same after the journal', () => {
    const read = jointFromJson(JSON.parse(JSON.stringify(jointToJson(joint))), original, 'pipeline');
    expect([...jointAssignments(read)]).toEqual([...jointAssignments(joint)]);
    expect(() => jointFromJson({ members: { nobody: { name: 'x' } } }, original, 'pipeline')).toThrow(
      /no model 'nobody'/,
    );
  });

  it('lowers the largest batch of the ensembles around to what their models take', () => {
    const outer: ModelConfig = {
      name: 'outer',
      platform: 'ensemble',
      max_batch_size: 3,
      ensemble_scheduling: { step: [{ model_name: 'pipeline' }] },
    };
    const nested = joinSpaces(spaces, jointOriginal({ encoder, head }, { pipeline, outer }, 'outer'), 'outer');
    const small = legal(buildJoint(nested, { 'encoder/max_batch_size': 1 }));
    expect(small.value).toMatchObject({ models: { pipeline: { max_batch_size: 1 }, outer: { max_batch_size: 1 } } });
    expect(small.shape.policy.maxBatchSize).toBe(1);
    const misfit = (ensemble: ModelConfig) => ensembleMisfit(ensemble, (name) => toModelConfigs(small)[name]);
    expect(misfit(pipeline)).toMatch(/maximum batch size/);
    expect(misfit(toModelConfigs(small).pipeline as ModelConfig)).not.toMatch(/maximum batch size/);
    const large = legal(buildJoint(nested, { 'encoder/max_batch_size': 8 }));
    expect(Object.keys(large.value.models as object)).toEqual(['encoder', 'head']);
    expect(large.shape.policy.maxBatchSize).toBe(3);
  });

  it('keeps batches that an ensemble of somebody else can be served with', () => {
    const bound = withinEnsembles(spaces.encoder, 'encoder', { pipeline });
    const within = joinSpaces({ ...spaces, encoder: bound }, original, 'pipeline');
    expect(buildJoint(within, { 'encoder/max_batch_size': 1 })).toEqual({
      legal: false,
      reason: "encoder: ensemble 'pipeline' takes batches of 4, and so must every model in it",
    });
    expect(new Set([...jointAssignments(within)].map((each) => each['encoder/max_batch_size']))).toEqual(new Set([8]));
  });
});

describe('two joint candidates', () => {
  it('differ model by model, and an ensemble only where both are known', () => {
    const small = legal(buildJoint(joint, { 'encoder/max_batch_size': 1, 'head/instances': 2 }));
    expect(listDifferences(original, small).map(({ path }) => path)).toEqual([
      'encoder: dynamic_batching.preferred_batch_size',
      'encoder: max_batch_size',
      'head: instance_group[0].count',
      'pipeline: max_batch_size',
    ]);
    const large = legal(buildJoint(joint, { 'encoder/max_batch_size': 8, 'head/instances': 2 }));
    expect(listDifferences(large, small).map(({ path }) => path)).not.toContain('pipeline: max_batch_size');
  });
});
