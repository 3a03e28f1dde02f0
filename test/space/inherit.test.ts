import { describe, expect, it } from 'vitest';
import { loadSpace } from '../../src/space/source/load.ts';
import type { Parameter, SearchSpace } from '../../src/space/types.ts';
import { folderOf, spaceOf } from './fixtures.ts';

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
