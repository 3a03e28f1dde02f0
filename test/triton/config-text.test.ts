import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatMessage, isTrituneError } from '#base/errors.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';

const folder = join(import.meta.dirname, '../fixtures/configs');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const parse = (text: string) => parseConfigText(text, 'config.pbtxt');

describe('the test set', () => {
  it.each(readdirSync(folder))('%s survives parse, print, parse', (name) => {
    const first = parseConfigText(read(name), name);
    const printed = printConfigText(first.config, { unknownFields: first.unknownFields });
    const second = parse(printed);
    expect(second.config).toEqual(first.config);
    const spelled = ({ unknownFields }: typeof first) => unknownFields.map(({ path, text }) => [path, text]).sort();
    expect(spelled(second)).toEqual(spelled(first));
    expect(printConfigText(second.config, { unknownFields: second.unknownFields })).toBe(printed);
    expect(normaliseConfig(JSON.parse(JSON.stringify(first.config)))).toEqual(first.config);
  });
});

describe('parseConfigText', () => {
  it('reads every spelling', () => {
    expect(parse(read('spellings.pbtxt')).config).toEqual({
      name: 'spellings',
      platform: 'café é 😀 😀 AA\t"\'\\?',
      max_batch_size: 16,
      input: [
        { name: 'a', data_type: 'TYPE_FP32', dims: [1, -1, 3, 4] },
        { name: 'b', data_type: 'TYPE_FP32', dims: [-1], format: 'FORMAT_NCHW' },
        { name: 'c', data_type: 'TYPE_BOOL', dims: [2], optional: true },
        { name: 'd', data_type: 'TYPE_BF16', dims: [7], optional: true, allow_ragged_batch: true },
      ],
      output: [{ name: 'y', data_type: 'TYPE_STRING', dims: [1], reshape: {} }],
      parameters: { "it's": { string_value: 'a "quoted" word' }, z: { string_value: 'before its key' } },
    });
  });

  it('reads numbers that JSON has no way to write', () => {
    const text = 'model_metrics { metric_control { histogram_options { buckets: [ inf, -Infinity, nan, 1f ] } } }';
    expect(parse(text).config).toEqual({
      model_metrics: {
        metric_control: [{ histogram_options: { buckets: ['Infinity', '-Infinity', 'NaN', 1] } }],
      },
    });
  });

  it('lets the later of two map entries count', () => {
    expect(parse(read('repeated_fields.pbtxt')).config.parameters).toEqual({ same: { string_value: 'second' } });
  });

  it('makes map keys plain keys, whatever their names', () => {
    const { parameters } = parse(read('accelerators.pbtxt')).config;
    expect(Object.keys(parameters ?? {})).toContain('__proto__');
    expect(Object.getPrototypeOf(parameters)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).string_value).toBeUndefined();
  });

  it('reports unknown fields with path, line and text, and keeps them in the config', () => {
    const { config, unknownFields } = parse(read('unknown_fields.pbtxt'));
    expect(unknownFields.map(({ path, line }) => [path, line])).toEqual([
      ['future_switch', 4],
      ['future_kind', 5],
      ['future_text', 6],
      ['future_list', 7],
      ['future_message', 8],
      ['[vendor.extension]', 10],
      ['instance_group[1].future_affinity', 11],
      ['parameters["k"].future_unit', 12],
    ]);
    expect(unknownFields[4]?.text).toBe(
      'future_message { a: "one" a: "two" nested { deep: 1.5 wide: 18446744073709551615 } } future_message { }',
    );
    expect(config).toMatchObject({
      future_switch: true,
      future_list: [1, -2, 16],
      future_message: [{ a: ['one', 'two'], nested: { deep: 1.5, wide: '18446744073709551615' } }, {}],
      instance_group: [{ count: 1 }, { count: 2, future_affinity: [{ core: 1 }, { core: 2 }] }],
    });
  });

  it.each([
    ['max_batch_size: "8"', '1:17', "expected a whole number for 'max_batch_size', found '\"8\"'"],
    ['max_batch_size: 8.0', '1:17', 'expected a whole number'],
    ['max_batch_size: 09', '1:17', 'expected a whole number'],
    ['max_batch_size: 2147483648', '1:17', 'outside int32'],
    ['max_batch_size 8', '1:16', "expected ':' after 'max_batch_size'"],
    ['max_batch_size: 8x', '1:17', "malformed number '8x'"],
    ['max_batch_size: 1\nmax_batch_size: 2', '2:1', 'given a second time'],
    ['optimization { }\n\toptimization { }', '2:2', 'given a second time'],
    ['dynamic_batching { } sequence_batching { }', '1:22', "'sequence_batching' excludes 'dynamic_batching'"],
    ['dynamic_batching { max_queue_delay_microseconds: 18446744073709551616 }', '1:50', 'outside uint64'],
    ['dynamic_batching { max_queue_delay_microseconds: -1 }', '1:50', 'outside uint64'],
    ['dynamic_batching [ { } ]', '1:18', "expected '{' for 'dynamic_batching'"],
    ['instance_group [ { kind: KIND_TPU } ]', '1:26', 'one of KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL'],
    ['instance_group [ { count: 1 }, ]', '1:32', "expected '{' for 'instance_group'"],
    ['instance_group [ { count: 1 } { count: 2 } ]', '1:31', "expected ']' or a comma"],
    ['instance_group { count: 1 >', '1:27', 'expected a field name'],
    ['instance_group {\n  count: 1', '2:11', 'found the end of the file'],
    ['optimization { eager_batching: yes }', '1:32', 'expected true or false'],
    ['optimization { eager_batching: 2 }', '1:32', 'expected true or false'],
    ['name: "a\nb"', '1:7', 'does not end on its line'],
    ['name: "\\q"', '1:7', "no escape '\\q'"],
    ['name: "\\377"', '1:7', 'not UTF-8'],
    ['name: "\\ud800"', '1:7', 'half a character'],
    ['name: "\\400"', '1:7', 'more than one byte'],
    ['name: unquoted', '1:7', 'expected a quoted string'],
    ['maxBatchSize: 4', '1:1', "spelled 'max_batch_size'"],
    ['parameters { key: "k" other: 1 }', '1:23', 'a map entry has'],
    ['# comment\n  & ', '2:3', 'means nothing here'],
    ['future', '1:7', "expected ':' or '{' after 'future'"],
    ['future: ', '1:9', 'expected a value'],
    ['} name: "x"', '1:1', 'expected a field name'],
  ])('refuses %j', (text, place, reason) => {
    const error = errorOf(text);
    expect(isTrituneError(error, 'CONFIG_INVALID')).toBe(true);
    expect(formatMessage(error)).toContain(`config.pbtxt:${place}: `);
    expect(formatMessage(error)).toContain(reason);
  });

  it.each([
    ['an unknown message nested too deep', `${'a { '.repeat(100_000)}`],
    ['an unknown list nested too deep', `a: ${'['.repeat(100_000)}`],
    ['a file without end', '#'.repeat(4 * 1024 * 1024 + 1)],
    ['a number without end', `max_batch_size: ${'9'.repeat(100_000)}`],
  ])('refuses %s with a code', (_, text) => {
    expect(isTrituneError(errorOf(text), 'CONFIG_INVALID')).toBe(true);
  });
});

describe('printConfigText', () => {
  it('writes fields in the order of their numbers, whatever order they came in', () => {
    const config = {
      backend: 'python',
      parameters: { b: { string_value: '2' }, a: {} },
      dynamic_batching: {},
      input: [{ data_type: 'TYPE_FP32', dims: [8], name: 'x' }],
      max_batch_size: 8,
      name: 'm',
    };
    expect(printConfigText(config, { comment: 'one\ntwo' })).toBe(
      `# one
# two
name: "m"
max_batch_size: 8
input [
  {
    name: "x"
    data_type: TYPE_FP32
    dims: [ 8 ]
  }
]
dynamic_batching { }
parameters {
  key: "a"
  value { }
}
parameters {
  key: "b"
  value {
    string_value: "2"
  }
}
backend: "python"
`,
    );
  });

  it('writes what a newer server sent in the spelling that its JSON suggests', () => {
    const config = { future: { kind: 'KIND_NEW', text: 'words', sizes: [1, 2], on: true, none: null } };
    const printed = printConfigText(config);
    expect(printed).toBe('future {\n  kind: KIND_NEW\n  text: "words"\n  sizes: 1\n  sizes: 2\n  on: true\n}\n');
  });

  it('writes an unknown field that was edited after reading with its new value', () => {
    const { config, unknownFields } = parse('future_kind: lower');
    expect(printConfigText(config, { unknownFields })).toBe('future_kind: lower\n');
    expect(printConfigText({ ...config, future_kind: 'KIND_B' }, { unknownFields })).toBe('future_kind: KIND_B\n');
  });

  it('refuses names that would break out of their place', () => {
    expect(() => printConfigText({ 'a: 1 name': 2 })).toThrow(/not a name of a field/);
    expect(() => printConfigText({ input: [{ name: 'x', data_type: 'X } name: "y"', dims: [1] }] })).toThrow(
      /not a name of an enum value/,
    );
  });
});

function errorOf(text: string): unknown {
  try {
    parse(text);
  } catch (error) {
    return error;
  }
  return undefined;
}
