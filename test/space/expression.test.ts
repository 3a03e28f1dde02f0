import { describe, expect, it } from 'vitest';
import type { Json } from '#base/json.ts';
import { evaluate } from '#space/evaluate.ts';
import { parseExpression } from '#space/expression.ts';
import type { EvaluationContext, Names } from '#space/subject.ts';

const values: Readonly<Record<string, Json>> = { a: 2, b: 3, on: true, word: 'x', text: '4', list: [1, 5, 3] };
const names: Names = {
  parameters: new Set([...Object.keys(values), 'absent']),
  limits: new Set(['cores', 'unknown']),
  config: true,
};
const scene: EvaluationContext = {
  base: { max_batch_size: 8, instance_group: [{ kind: 'KIND_GPU' }] },
  config: { max_batch_size: 4, parameters: { threads: { string_value: '6' } } },
  limits: { cores: 16, unknown: null },
  parameter: (name) => values[name],
};

describe('a rule', () => {
  it.each<readonly [string, Json | undefined]>([
    ['1 + 2 * 3 == 7', true],
    ['(1 + 2) * 3 == 9', true],
    ['10 - 4 - 3 == 3', true],
    ['-a < 0 and not a > b', true],
    ['7 % 4 == 3 and 7 / 2 == 3.5', true],
    ['a == 3 or b == 3', true],
    ['not a == 2', false],
    ['a * b <= limits.cores', true],
    ['a * b > limits.unknown', undefined],
    ['a == 2 or absent == 1', true],
    ['a == 3 and absent == 1', false],
    ['a == 2 and absent == 1', undefined],
    ['a == 3 or absent == 1', undefined],
    ['not absent', undefined],
    ['a / 0 == 1', undefined],
    ['word < 3', undefined],
    ['text * 2 == 8', true],
    ['word == \'x\' and word != "y"', true],
    ['on == true', true],
    ['max(list) == 5 and min(list, a) == 1 and count(list) == 3', true],
    ['max(absent) == 1', undefined],
    ['config.max_batch_size < base.max_batch_size', true],
    ['config.parameters.threads == 6', true],
    ['config.dynamic_batching.max_queue_delay_microseconds > 0', undefined],
    ["device == 'gpu'", true],
  ])('%s is %s', (text, expected) => {
    expect(evaluate(parseExpression(text, names), scene)).toBe(expected);
  });

  it.each([
    ['a <', /expected a value at the end/],
    ['(a < b', /expected '\)' at the end/],
    ['a < b c', /unexpected at 'c'/],
    ['sum(list) < 2', /no function 'sum'/],
    ['a & b', /'&' cannot be read/],
    ['c < 2', /no parameter 'c'/],
    ['config.max_batch < 2', /no field 'max_batch'/],
    ['a', /not a relation/],
  ])('%s is refused', (text, reason) => {
    expect(() => parseExpression(text, names)).toThrow(reason);
  });
});
