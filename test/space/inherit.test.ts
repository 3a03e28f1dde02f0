import { describe, expect, it } from 'vitest';
import { bindSpace } from '#space/bound-space.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toCandidate } from '#space/model-configs.ts';
import { optionsFor } from '#space/options.ts';
import { loadSpace, spaceFromJson, spaceToJson } from '#space/source/load.ts';
import { presetNames } from '#space/source/presets.ts';
import type { Parameter, SearchSpace } from '#space/types.ts';
import { cpuModel, faultOf, folderOf, spaceOf } from './fixtures.ts';

const parameterOf = (space: SearchSpace, name: string): Parameter => {
  const found = space.parameters.find((parameter) => parameter.name === name);
  if (found === undefined) throw new Error(`no parameter ${name}`);
  return found;
};

const valuesOf = (parameter: Parameter): unknown[] => parameter.cases[0]?.options.map(({ value }) => value) ?? [];

describe('a space that extends another', () => {
  it('replaces values and keeps the field, the condition and the cost', () => {
    const before = parameterOf(loadSpace('onnxruntime'), 'threads');
    const after = parameterOf(spaceOf('extends: onnxruntime\nparameters: { threads: [3] }'), 'threads');
    expect(valuesOf(after)).toEqual([3]);
    expect(after.path).toEqual(before.path);
    expect(after.cases[0]?.when).toEqual(before.cases[0]?.when);
  });

  it('may replace values by choices, which name their own fields', () => {
    const text = 'extends: onnxruntime\nparameters: { threads: { choices: { few: { parameters.x: 1 }, many: {} } } }';
    const threads = parameterOf(spaceOf(text), 'threads');
    expect(valuesOf(threads)).toEqual(['few', 'many']);
    expect(threads.path).toBeNull();
  });

  it('has its own name and description, and the limits of both', () => {
    const space = spaceOf('extends: tensorrt\nlimits: { cores: 3 }');
    expect(space).toMatchObject({
      name: 'my',
      description: '',
      backend: 'tensorrt',
      limits: { cores: 3, instances: null },
    });
  });

  it('drops and replaces by name', () => {
    const space = spaceOf(`
extends: base
drop: [queue_delay_us, delay-fits-budget]
rules:
  - { name: stated-max-batch, require: max_batch_size <= 4, message: mine }
`);
    expect(space.parameters.map(({ name }) => name)).not.toContain('queue_delay_us');
    const rules = space.rules.map(({ name, message }) => [name, message]);
    expect(rules.filter(([name]) => name === 'stated-max-batch')).toEqual([['stated-max-batch', 'mine']]);
    expect(rules.map(([name]) => name)).not.toContain('delay-fits-budget');
  });

  it('finds its parent beside itself', () => {
    const directory = folderOf({
      'child.yaml': 'extends: ./parent.yaml',
      'parent.yaml': 'parameters: { instances: 2 }',
    });
    expect(valuesOf(parameterOf(loadSpace('child.yaml', { directory }), 'instances'))).toEqual([2]);
  });
});

describe('a dropped parameter that others read', () => {
  const baseWith = (parameters: Record<string, string>) => {
    const texts = Object.entries(parameters).map(([name, text]) => [name, { string_value: text }]);
    return toCandidate({ ...cpuModel, parameters: Object.fromEntries(texts) }, {});
  };
  const withStored = (space: SearchSpace) => [space, spaceFromJson(spaceToJson(space))];

  it('is what the base config says, in a rule', () => {
    for (const space of withStored(spaceOf('extends: onnxruntime\ndrop: [threads]', { cores: 8 }))) {
      const isLegal = (threads: string, instances: number) =>
        buildCandidate(space, baseWith({ intra_op_thread_count: threads }), { instances }).legal;
      expect([isLegal('4', 2), isLegal('4', 3), isLegal('1', 3)]).toEqual([true, false, true]);
    }
  });

  it('is what the base config says, in a condition', () => {
    for (const space of withStored(spaceOf('extends: openvino\ndrop: [hint]'))) {
      const countStreams = (hint: string) =>
        optionsFor(bindSpace(space, baseWith({ PERFORMANCE_HINT: hint })), 'streams', {}).length;
      expect([countStreams('THROUGHPUT'), countStreams('LATENCY')]).toEqual([4, 0]);
    }
  });

  it("is the engine's default where nothing sets it", () => {
    const rules = spaceToJson(spaceOf('extends: engines/sglang\ndrop: [schedule_policy]')).rules;
    expect(rules).toContainEqual(expect.objectContaining({ when: { 'base.engine.schedule_policy': 'lpm' } }));
  });

  it('is the present or absent message of the base config', () => {
    const parent =
      'parameters: { cache: { path: response_cache, values: [off, on] }, instances: { values: [2], when: { cache: on } } }';
    const directory = folderOf({ 'my.yaml': 'extends: ./parent.yaml\ndrop: [cache]', 'parent.yaml': parent });
    const space = loadSpace('my.yaml', { directory });
    const count = (config: typeof cpuModel) =>
      optionsFor(bindSpace(space, toCandidate(config, {})), 'instances', {}).length;
    expect([count(cpuModel), count({ ...cpuModel, response_cache: { enable: true } })]).toEqual([0, 1]);
  });

  it('is the parameter again if a file further on has it', () => {
    const directory = folderOf({
      'child.yaml': 'extends: ./parent.yaml\nparameters: { threads: { path: parameters.t, values: [1] } }',
      'parent.yaml': 'extends: onnxruntime\ndrop: [threads]',
    });
    const rules = loadSpace('child.yaml', { directory }).rules.map(({ name, require }) => [name, require]);
    const original = loadSpace('onnxruntime').rules.map(({ name, require }) => [name, require]);
    expect(rules).toEqual(original);
  });

  it.each(presetNames())('can be any of %s', (preset) => {
    for (const { name } of loadSpace(preset).parameters) {
      const space = spaceOf(`extends: ${preset}\ndrop: [${name}]`);
      expect(space.parameters.map((each) => each.name)).not.toContain(name);
      expect(spaceFromJson(spaceToJson(space)).rules).toEqual(space.rules);
    }
  });

  it('has no value if it sets several fields', () => {
    const parent = `
parameters: { mode: { choices: { a: { parameters.x: 1 }, b: { parameters.y: 2 } } }, instances: [1, 2] }
rules: [{ when: { mode: a }, require: instances <= 1, message: no }]`;
    expect(faultOf('extends: ./parent.yaml\ndrop: [mode]', { 'parent.yaml': parent }).message).toMatch(
      /my.yaml:2:8 drop\[0\]: a rule or a condition reads 'mode', whose choices set several fields/,
    );
  });
});
