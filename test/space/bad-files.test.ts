import { describe, expect, it } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { loadSpace } from '#space/source/load.ts';
import { faultOf, folderOf } from './fixtures.ts';

/** What is wrong, the text, and the message: place and reason. */
const badFiles: readonly (readonly [string, string, string | RegExp])[] = [
  [
    'an unknown key at the top',
    'name: x\nparametres:\n  instances: [1]\n',
    "my.yaml:2:1 parametres: unknown key 'parametres' (did you mean 'parameters'?)",
  ],
  [
    'an unknown key of a parameter',
    'parameters:\n  instances:\n    valeus: [1]\n',
    "my.yaml:3:5 parameters.instances.valeus: unknown key 'valeus' (did you mean 'values'?)",
  ],
  [
    'a misspelt short name',
    'parameters:\n  instances: [1]\n  max_bach_size: [1]\n',
    "my.yaml:3:3 parameters.max_bach_size: 'max_bach_size' is not a short name (did you mean 'max_batch_size'?): give it a path or choices",
  ],
  [
    'a field that ModelConfig does not have',
    'parameters:\n  delay:\n    values: [1]\n    path: dynamic_batching.max_queue_delay\n',
    "my.yaml:4:5 parameters.delay.path: dynamic_batching has no field 'max_queue_delay'",
  ],
  [
    'a path that cannot be read',
    'parameters:\n  x:\n    path: instance_group[0]count\n    values: [1]\n',
    "my.yaml:3:5 parameters.x.path: 'instance_group[0]count' is not a path: 'count' cannot be read",
  ],
  [
    'a path into a list without an index',
    'parameters:\n  x: { path: instance_group.count, values: [1] }\n',
    'my.yaml:2:8 parameters.x.path: instance_group is a list: write instance_group[0] or instance_group[name=…]',
  ],
  [
    'a path to a prototype',
    'parameters:\n  x:\n    path: parameters.__proto__.polluted\n    values: [1]\n',
    "my.yaml:3:5 parameters.x.path: '__proto__' is not a field",
  ],
  [
    'a key that reaches a prototype',
    'parameters:\n  instances: [1]\n  __proto__:\n    values: [1]\n',
    "my.yaml:3:3: '__proto__' is not a name that may be used here",
  ],
  [
    'a value of the wrong type',
    'parameters:\n  instances: [1, two]\n',
    'my.yaml:2:18 parameters.instances[1]: instance_group[0].count takes a whole number, not "two"',
  ],
  [
    'an enum that there is not',
    'parameters:\n  instance_kind:\n    values:\n      - KIND_CPU\n      - KIND_TPU\n',
    /^my\.yaml:5:9 parameters\.instance_kind\.values\[1\]: .*not "KIND_TPU" \(did you mean 'KIND_GPU'\?\)$/,
  ],
  [
    'a range from high to low',
    'parameters:\n  instances: { range: [4, 1] }\n',
    'my.yaml:2:16 parameters.instances.range: it runs from 4 down to 1: the lower end comes first',
  ],
  [
    'a range of too many values',
    'parameters:\n  queue_delay_us: { range: [0, 1000000] }\n',
    /^my\.yaml:2:21 parameters\.queue_delay_us\.range: it has 1000001 values/,
  ],
  [
    'fractions without a step',
    'parameters:\n  x: { path: model_warmup, range: [0.5, 1.5] }\n',
    'my.yaml:2:28 parameters.x.range: a range of fractions needs a step or points',
  ],
  [
    'a range with one end',
    'parameters:\n  instances:\n    range: [4]\n',
    /^my\.yaml:3:5 parameters\.instances\.range: /,
  ],
  [
    'no power of two',
    'parameters:\n  max_batch_size: { powers: [5, 7] }\n',
    /^my\.yaml:2:21 .*no power of two from 5 to 7/,
  ],
  ['no values', 'parameters:\n  instances: {}\n', /^my\.yaml:2:3 parameters\.instances: it has no values/],
  ['an empty list', 'parameters:\n  instances: []\n', /^my\.yaml:2:3 parameters\.instances: /],
  [
    'two kinds of values',
    'parameters:\n  instances:\n    values: [1]\n    range: [1, 2]\n',
    'my.yaml:4:5 parameters.instances.range: a parameter has either values or range',
  ],
  ['a value twice', 'parameters:\n  instances: [1, 2, 1]\n', 'my.yaml:2:21 parameters.instances[2]: 1 is there twice'],
  [
    'choices with a path',
    'parameters:\n  x:\n    path: max_batch_size\n    choices: { a: {} }\n',
    'my.yaml:3:5 parameters.x.path: choices name their own fields: leave out the path',
  ],
  [
    'a choice with an unknown field',
    'parameters:\n  precision:\n    choices:\n      fp16:\n        optimisation.cuda.graphs: true\n',
    "my.yaml:5:9 parameters.precision.choices.fp16.optimisation.cuda.graphs: the model config has no field 'optimisation' (did you mean 'optimization'?)",
  ],
  [
    'a condition on nothing that exists',
    'parameters:\n  queue_delay_us:\n    values: [1]\n    when:\n      dynamic_batchin: on\n',
    "my.yaml:4:5 parameters.queue_delay_us.when: there is no parameter 'dynamic_batchin' (did you mean 'dynamic_batching'?)",
  ],
  [
    'a comparison that there is not',
    'parameters:\n  instances:\n    values: [1]\n    when:\n      max_batch_size: { atleast: 2 }\n',
    "my.yaml:5:25 parameters.instances.when.max_batch_size.atleast: unknown key 'atleast' (did you mean 'at_least'?)",
  ],
  [
    'conditions in a circle',
    'parameters:\n  instances: { values: [1], when: { max_batch_size: 1 } }\n  max_batch_size: { values: [1], when: { instances: 1 } }\n',
    "my.yaml:2:29 parameters.instances.when: the conditions of 'instances', 'max_batch_size' depend on each other in a circle",
  ],
  [
    'a rule that looks like an assignment',
    'rules:\n  - require: instances = 2\n    message: no\n',
    "my.yaml:2:5 rules[0].require: 'instances = 2': '=' cannot be read (equality is ==)",
  ],
  [
    'a rule that breaks off',
    'rules:\n  - message: no\n    require: instances <=\n',
    "my.yaml:3:5 rules[0].require: 'instances <=': expected a value at the end",
  ],
  [
    'a rule about a limit that nobody named',
    'rules:\n  - message: no\n    require: instances <= limits.cores\n',
    "my.yaml:3:5 rules[0].require: there is no limit 'cores'; name it under limits",
  ],
  ['a rule that compares nothing', 'rules:\n  - { message: no, require: instances + 1 }\n', /is not a relation/],
  ['a rule without a message', 'rules:\n  - require: instances < 2\n', /^my\.yaml:2:5 rules\[0\]\.message: /],
  [
    'a field that two parameters set',
    'parameters:\n  instances: [1]\n  instance_group[0].count: [2]\n',
    "my.yaml:3:3 parameters.instance_group[0].count: it sets the same field as the parameter 'instances'; use one parameter with cases",
  ],
  [
    'an unknown preset to extend',
    'name: x\nextends: onnxruntme\n',
    "my.yaml:2:1 extends: there is no preset or file 'onnxruntme' (did you mean 'onnxruntime'?)",
  ],
  ['itself to extend', 'extends: my.yaml\n', "my.yaml:1:1 extends: 'my.yaml' extends this file in turn"],
  [
    'something to drop that is not there',
    'extends: base\ndrop: [instance]\n',
    "my.yaml:2:8 drop[0]: nothing named 'instance' is inherited (did you mean 'instances'?)",
  ],
  ['a key twice', 'name: x\nname: y\n', /^my\.yaml:2:1: Map keys must be unique/],
  ['broken YAML', 'parameters:\n  instances: [1, 2\n', /^my\.yaml:3:1: /],
  ['a tag', 'name: !!js/function "x"\n', /^my\.yaml:1:7: /],
  ['no mapping at all', '- 1\n- 2\n', /^my\.yaml:1:1: /],
  ['a limit that is no number', 'limits:\n  cores: many\n', /^my\.yaml:2:3 limits\.cores: /],
  ['a value that is no number', 'parameters:\n  instances: [.nan]\n', /^my\.yaml:2:15 parameters\.instances\[0\]: /],
];

describe('a bad search-space file', () => {
  it.each(badFiles)('with %s is refused at its place', (_, text, expected) => {
    const fault = faultOf(text);
    expect(fault.code).toBe('SPACE_INVALID');
    expect(fault.hint).not.toBe('');
    if (typeof expected === 'string') expect(fault.message).toBe(expected);
    else expect(fault.message).toMatch(expected);
  });

  it('names the file that says it, among those that extend one another', () => {
    const fault = faultOf('extends: parent.yaml\n', {
      'parent.yaml': 'parameters:\n  instances: [1]\n  pile: [2]\n',
    });
    expect(fault.message).toMatch(/^parent\.yaml:3:3 parameters\.pile: /);
  });

  it('is no search space when there is no such file, and the presets are named', () => {
    try {
      loadSpace('tensort', { directory: folderOf({}) });
      expect.unreachable();
    } catch (error) {
      if (!isTrituneError(error, 'SPACE_INVALID')) throw error;
      expect(error.message).toBe("there is no search space 'tensort' (did you mean 'tensorrt'?)");
      expect(error.hint).toContain('onnxruntime, openvino, python, pytorch, tensorflow, tensorrt');
    }
  });

  it('is not read when it is a folder', () => {
    expect(() => loadSpace('.', { directory: folderOf({}) })).toThrow(/it cannot be read/);
  });
});

describe('a hostile search-space file', () => {
  it('does not expand aliases without end', () => {
    const levels = Array.from({ length: 12 }, (_, index) =>
      index === 0
        ? 'a0: &a0 [x, x, x, x, x, x]'
        : `a${index}: &a${index} [${Array(6)
            .fill(`*a${index - 1}`)
            .join(', ')}]`,
    );
    expect(faultOf(`${levels.join('\n')}\n`).message).toMatch(/alias/i);
  });

  it('may not be nested without end', () => {
    expect(faultOf(`name: ${'['.repeat(200)}${']'.repeat(200)}\n`).message).toMatch(/nested deeper/);
    expect(faultOf(`name: ${'['.repeat(100_000)}\n`).code).toBe('SPACE_INVALID');
  });

  it('may not be of any size', () => {
    expect(faultOf(`name: ${'x'.repeat(300_000)}\n`).message).toMatch(/longer than 256 KiB/);
    const parameters = Array.from({ length: 65 }, (_, index) => `  parameters.p${index}: [1]`);
    expect(faultOf(`parameters:\n${parameters.join('\n')}\n`).message).toMatch(/at most 64 parameters/);
  });

  it('may not nest a rule without end', () => {
    const require = `${'('.repeat(200)}instances${')'.repeat(200)} < 2`;
    expect(faultOf(`rules:\n  - { message: no, require: "${require}" }\n`).message).toMatch(/nested too deeply/);
  });

  it('leaves prototypes alone', () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      expect(faultOf(`parameters:\n  x: { choices: { a: { "${key}.polluted": 1 } } }\n`).code).toBe('SPACE_INVALID');
      expect(faultOf(`parameters:\n  x: { path: 'parameters["${key}"]', values: [1] }\n`).message).toMatch(
        /is not a field/,
      );
      expect(faultOf(`limits:\n  ${key}: 1\n`).code).toBe('SPACE_INVALID');
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
