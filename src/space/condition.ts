import { canonicalJson, type Json } from '#base/json.ts';
import type { ConditionFile } from './source/schema.ts';
import { type EvaluationContext, type Names, parseSubject, subjectValue } from './subject.ts';
import type { Condition, ConditionSubject, Test } from './types.ts';

/** The condition that always holds. */
export const always: Condition = { kind: 'all', of: [] };

/** Reads a `when` of a file. Throws a FieldFault for a subject that does not exist. */
export function compileCondition(file: ConditionFile | undefined, names: Names): Condition {
  if (file === undefined) return always;
  const of = Object.entries(file).flatMap(([key, value]): Condition[] => {
    if (value === undefined) return [];
    if (key === 'any') {
      return [{ kind: 'any', of: (value as ConditionFile[]).map((inner) => compileCondition(inner, names)) }];
    }
    if (key === 'not') return [{ kind: 'not', of: compileCondition(value as ConditionFile, names) }];
    const subject = parseSubject(key, names);
    return parseTests(value as Json).map((test) => ({ kind: 'test', subject, label: key, test }));
  });
  return of.length === 1 ? (of[0] as Condition) : { kind: 'all', of };
}

/** Both conditions together. */
export function both(a: Condition, b: Condition): Condition {
  if (a === always) return b;
  return b === always ? a : { kind: 'all', of: [a, b] };
}

function parseTests(file: Json): Test[] {
  if (Array.isArray(file)) return [{ operator: 'in', operand: file }];
  if (file === null || typeof file !== 'object') return [{ operator: 'in', operand: [file] }];
  return Object.entries(file).flatMap(([word, operand]) => (operand === undefined ? [] : [createTest(word, operand)]));
}

function createTest(word: string, operand: Json): Test {
  if (word === 'present') return { operator: 'present', operand: operand === true };
  if (word === 'is' || word === 'in' || word === 'not') {
    const list = Array.isArray(operand) ? operand : [operand];
    return { operator: word === 'not' ? 'not-in' : 'in', operand: list };
  }
  return { operator: word.replace('_', ' ') as 'above' | 'at least' | 'below' | 'at most', operand: operand as number };
}

/**
 * True if the condition holds. A parameter that does not apply, and an unstated limit, fail every
 * test but `present`; a field that is not in the config counts as its protobuf default (0, false,
 * empty text).
 */
export function holds(condition: Condition, scene: EvaluationContext): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.of.every((inner) => holds(inner, scene));
    case 'any':
      return condition.of.some((inner) => holds(inner, scene));
    case 'not':
      return !holds(condition.of, scene);
    case 'test':
      return passes(condition.test, condition.subject, subjectValue(condition.subject, scene));
  }
}

function passes(test: Test, subject: ConditionSubject, value: Json | undefined): boolean {
  if (test.operator === 'present') return (value !== undefined) === test.operand;
  const { scope } = subject.scope === 'member' ? subject.of : subject;
  const isField = scope === 'base' || scope === 'config';
  if (value === undefined && !isField) return false;
  if (test.operator === 'in') return test.operand.some((item) => alike(value, item));
  if (test.operator === 'not-in') return !test.operand.some((item) => alike(value, item));
  const number = value === undefined ? 0 : Number(value);
  if (test.operator === 'above') return number > test.operand;
  if (test.operator === 'at least') return number >= test.operand;
  if (test.operator === 'below') return number < test.operand;
  return number <= (test.operand as number);
}

/**
 * True if the values are equal to a person: `on` is true, and a message that is there; 4 is the
 * text "4", and an absent field is its default.
 */
export function alike(value: Json | undefined, json: Json): boolean {
  if (value === undefined) return json === 0 || json === false || json === '' || json === 'off';
  if (json === 'on' || json === 'off') {
    if (typeof value === 'boolean') return value === (json === 'on');
    if (value !== null && typeof value === 'object') return json === 'on';
  }
  if (typeof value === 'object' || typeof json === 'object') return canonicalJson(value) === canonicalJson(json);
  return String(value) === String(json);
}

/** Returns the condition in words: `dynamic_batching is on and max_batch_size is above 1`. */
export function describeCondition(condition: Condition): string {
  switch (condition.kind) {
    case 'all':
      return condition.of.length === 0 ? 'always' : condition.of.map(describeCondition).join(' and ');
    case 'any':
      return `(${condition.of.map(describeCondition).join(' or ')})`;
    case 'not':
      return `not (${describeCondition(condition.of)})`;
    case 'test':
      return `${condition.label} ${describeTest(condition.test)}`;
  }
}

function describeTest(test: Test): string {
  if (test.operator === 'present') return test.operand ? 'is there' : 'is not there';
  if (test.operator !== 'in' && test.operator !== 'not-in') return `is ${test.operator} ${test.operand}`;
  const words = test.operand.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return `is ${test.operator === 'in' ? '' : 'not '}${words.length === 1 ? '' : 'one of '}${words.join(', ')}`;
}

/** Returns the names of the parameters that the condition reads. */
export function parametersIn(condition: Condition): string[] {
  if (condition.kind === 'test') return condition.subject.scope === 'parameter' ? [condition.subject.name] : [];
  return condition.kind === 'not' ? parametersIn(condition.of) : condition.of.flatMap(parametersIn);
}
