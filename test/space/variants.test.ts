import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { MARK, toArtifact } from '#space/artifact.ts';
import { buildCandidate } from '#space/candidate.ts';
import { checkVariants } from '#space/check-variants.ts';
import { listDifferences } from '#space/differences.ts';
import { assignments, sampleAssignment } from '#space/enumerate.ts';
import { expectedTime } from '#space/expected-time.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { otherModelsIn } from '#space/other-models.ts';
import { loadSpace, spaceFromJson, spaceToJson } from '#space/source/load.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const base = toOriginal({
  name: 'mlp',
  platform: 'onnxruntime_onnx',
  backend: 'onnxruntime',
  default_model_filename: 'model.onnx',
  max_batch_size: 8,
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tritune-space-'));
});

async function spaceOf(
  yaml: string,
  files: Readonly<Record<string, string>> = { 'b.onnx': 'b' },
): Promise<SearchSpace> {
  for (const [name, content] of Object.entries({ ...files, 'space.yaml': yaml })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return loadSpace('space.yaml', { directory: folder });
}

function built(space: SearchSpace, assignment: Candidate['assignment']): Candidate {
  const outcome = buildCandidate(space, base, assignment);
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
}

const configOf = (space: SearchSpace, variant: string): ModelConfig => toModelConfig(built(space, { variant }));

describe('variants', () => {
  it('are values of one parameter, which conditions can ask for', async () => {
    const space = await spaceOf(
      'variants: { a: {}, b: { files: { 1/model.onnx: b.onnx } } }\nparameters: { instances: { values: [2], when: { variant: b } } }\n',
    );
    expect(built(space, { variant: 'b', instances: 2 }).shape.policy.instances).toBe(2);
    expect(buildCandidate(space, base, { variant: 'a', instances: 2 })).toMatchObject({ legal: false });
    expect(built(space, { variant: 'a' }).fingerprint).toBe(base.fingerprint);
  });

  describe('that are other models', () => {
    const fast: ModelConfig = {
      name: 'fast',
      backend: 'python',
      max_batch_size: 64,
      instance_group: [{ count: 1, kind: 'KIND_CPU' }],
    };
    const both = toOriginal(toModelConfig(base), { fast });
    const yaml = `variants: { a: {}, fast: { model: fast, config: { parameters.x: y } } }
parameters:
  max_batch_size: { cases: [{ when: { base.max_batch_size: { above: 8 } }, values: [32, 64] }, { values: [4] }] }
`;

    it('are built on the config of that model, with its own legality', async () => {
      const space = await spaceOf(yaml);
      expect([...assignments(space, both)]).toEqual([
        { variant: 'a', max_batch_size: 4 },
        { variant: 'fast', max_batch_size: 32 },
        { variant: 'fast', max_batch_size: 64 },
      ]);
      const outcome = buildCandidate(space, both, { variant: 'fast', max_batch_size: 32 });
      expect(outcome.legal && toModelConfig(outcome.candidate)).toMatchObject({
        name: 'fast',
        backend: 'python',
        max_batch_size: 32,
        parameters: { x: { string_value: 'y' } },
      });
      expect(buildCandidate(space, both, { variant: 'a', max_batch_size: 32 })).toMatchObject({ legal: false });
      expect(mostPlaces(space, both)).toBe(64);
      expect(otherModelsIn(space, 'mlp')).toEqual(['fast']);
      expect(otherModelsIn(space, 'fast')).toEqual([]);
      expect(spaceFromJson(spaceToJson(space)).definition).toEqual(space.definition);
    });

    it('are chosen before all that depends on the model, whatever a change costs', async () => {
      const space = await spaceOf(
        'variants: { a: {}, fast: { model: fast } }\nparameters: { p: { path: parameters.p, change: expensive, when: { base.backend: onnxruntime }, values: [1, 2] } }\n',
      );
      expect([...assignments(space, both)]).toEqual([
        { variant: 'a', p: 1 },
        { variant: 'a', p: 2 },
        { variant: 'fast' },
      ]);
    });

    it('stay values where another variant does not apply to the model', async () => {
      const space = await spaceOf(
        'variants: { a: {}, fast: { model: fast }, b: { config: { dynamic_batching.preserve_ordering: true } } }\n',
      );
      const ensemble = toOriginal(
        { ...toModelConfig(base), platform: 'ensemble', ensemble_scheduling: { step: [] } },
        { fast },
      );
      expect([...assignments(space, ensemble)].map(({ variant }) => variant)).toContain('fast');
    });

    it('are drawn as often as the others', async () => {
      const space = await spaceOf(yaml);
      const random = seededRandom(1);
      const drawn = Array.from({ length: 300 }, () => sampleAssignment(space, both, random).variant);
      const share = drawn.filter((variant) => variant === 'fast').length / drawn.length;
      expect(share).toBeGreaterThan(0.55);
      expect(share).toBeLessThan(0.78);
    });

    it('have no candidates where the config of the model is not known', async () => {
      const space = await spaceOf(yaml);
      expect([...assignments(space, base)]).toEqual([{ max_batch_size: 4 }]);
      expect(buildCandidate(space, base, { variant: 'fast' })).toMatchObject({ legal: false });
    });

    it('differ from the original by their names too', async () => {
      const outcome = buildCandidate(await spaceOf(yaml), both, { variant: 'fast' });
      expect(outcome.legal && listDifferences(both, outcome.candidate)).toEqual(
        expect.arrayContaining([{ path: 'name', before: 'mlp', after: 'fast' }]),
      );
    });
  });

  it('have the fingerprint of what is in their files', async () => {
    const yaml = 'variants: { b: { files: { 1/model.onnx: b.onnx } } }\n';
    const first = built(await spaceOf(yaml), { variant: 'b' });
    expect(first.fingerprint).not.toBe(base.fingerprint);
    expect(built(await spaceOf(yaml, { 'b.onnx': 'other' }), { variant: 'b' }).fingerprint).not.toBe(first.fingerprint);
    expect(built(await spaceOf(yaml), { variant: 'b' }).fingerprint).toBe(first.fingerprint);
  });

  it('of another backend lose what the base config says of the files of its own', async () => {
    const space = await spaceOf(
      'variants: { b: { files: { 1/model.py: b.onnx }, config: { backend: python } }, c: { config: { backend: python, default_model_filename: c.py } } }\n',
    );
    expect(configOf(space, 'b')).toMatchObject({ backend: 'python', max_batch_size: 8 });
    expect(configOf(space, 'b')).not.toHaveProperty('platform');
    expect(configOf(space, 'b')).not.toHaveProperty('default_model_filename');
    expect(configOf(space, 'c')).toMatchObject({ default_model_filename: 'c.py' });
  });

  it('on the server already are a version or a file, without an upload', async () => {
    const space = await spaceOf(
      'variants: { two: { version: 2 }, other: { config: { default_model_filename: int8.onnx } } }\n',
    );
    expect(configOf(space, 'two').version_policy).toEqual({ specific: { versions: [2] } });
    expect(toArtifact(built(space, { variant: 'two' }))).toBeUndefined();
    expect(configOf(space, 'other')).toMatchObject({ default_model_filename: 'int8.onnx' });
    expect(configOf(space, 'other')).not.toHaveProperty('parameters');
  });

  it('are in the journal with their digests, and never with their bytes; a resumed study needs no space file', async () => {
    const yaml =
      'variants: { b: { files: { 1/model.onnx: b.onnx }, build: { command: [cat, b.onnx], seconds: 9 } } }\n';
    const space = await spaceOf(yaml, { 'b.onnx': 'these bytes' });
    const candidate = built(space, { variant: 'b' });
    const json = spaceToJson(space);
    expect(JSON.stringify([json, candidate])).not.toContain('these bytes');
    await writeFile(join(folder, 'b.onnx'), 'gone');
    expect(built(spaceFromJson(json), { variant: 'b' })).toEqual(candidate);
  });

  it('name in the config which files are served', async () => {
    const space = await spaceOf('variants: { b: { files: { 1/model.onnx: b.onnx } } }\n');
    const digest = toArtifact(built(space, { variant: 'b' }))?.digest ?? '';
    expect(configOf(space, 'b').parameters).toEqual({ [MARK]: { string_value: `b ${digest.slice(0, 12)}` } });
  });

  it('say what is expected of them', async () => {
    const space = await spaceOf('variants: { a: {}, b: { files: { 1/model.onnx: b.onnx }, expects: 0.5 } }\n');
    expect(expectedTime(space, base, built(space, { variant: 'b' }))).toBe(0.5);
    expect(expectedTime(space, base, base)).toBe(1);
  });

  it('are replaced by name and dropped by a space that extends another', async () => {
    await spaceOf('variants: { a: {}, b: { files: { 1/model.onnx: b.onnx } }, c: {} }\n');
    await writeFile(join(folder, 'child.yaml'), 'extends: space.yaml\nvariants: { b: { version: 3 } }\ndrop: [c]\n');
    const child = loadSpace('child.yaml', { directory: folder });
    expect(child.parameters[0]?.cases[0]?.options.map(({ value }) => value)).toEqual(['a', 'b']);
    expect(toArtifact(built(child, { variant: 'b' }))).toBeUndefined();
  });

  it('of which nothing is legal are refused before the study', async () => {
    const space = await spaceOf(
      'variants: { a: {}, b: { config: { max_batch_size: 4, instance_group: [{ count: 1, kind: KIND_CPU, gpus: [0] }] } } }\n',
    );
    expect(() => checkVariants(space, base)).toThrow(/variant 'b' has no valid candidate: Triton would refuse it/);
  });

  it.each([
    [
      'a file that is not there',
      'variants: { b: { files: { 1/m: none.onnx } } }',
      /space\.yaml:1:18 variants\.b\.files: it cannot be read: ENOENT/,
    ],
    ['a place without a version', 'variants: { b: { files: { model.onnx: b.onnx } } }', /variants\.b\.files/],
    ['a place above the model', 'variants: { b: { files: { 1/../../x: b.onnx } } }', /variants\.b\.files/],
    [
      'a field that there is not',
      'variants: { b: { config: { bakend: x } } }',
      /variants\.b\.config\.bakend: the model config has no field 'bakend'/,
    ],
    [
      'files of another model',
      'variants: { b: { model: fast, files: { 1/model.onnx: b.onnx } } }',
      /space\.yaml:1:18 variants\.b\.model: a model of the server is served from its own files/,
    ],
    ['a misspelt key', 'variants: { b: { file: {} } }', /unknown key 'file' \(did you mean 'files'\?\)/],
    [
      'a parameter of the same name',
      'variants: { a: {} }\nparameters: { variant: { path: max_batch_size, values: [1] } }',
      /the variants are the values of this parameter/,
    ],
  ])('with %s are refused with the place', async (_, yaml, message) => {
    await expect(spaceOf(yaml)).rejects.toThrow(message);
  });
});
