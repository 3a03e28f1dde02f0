import type { Json } from '#base/json.ts';
import { alike } from './condition.ts';
import { type EvaluationContext, subjectValue } from './subject.ts';
import type { Expression } from './types.ts';

/**
 * Returns the expression's value, or undefined if it depends on something without a value: an
 * absent field, a parameter that does not apply, an unstated limit, text instead of a number.
 */
export function evaluate(expression: Expression, scene: EvaluationContext): Json | undefined {
  switch (expression.kind) {
    case 'value':
      return expression.value;
    case 'subject':
      return subjectValue(expression.subject, scene);
    case 'call':
      return call(
        expression.function,
        expression.of.map((inner) => evaluate(inner, scene)),
      );
    case 'operation':
      return operate(
        expression.operator,
        expression.of.map((inner) => evaluate(inner, scene)),
      );
  }
}

function call(name: string, operands: readonly (Json | undefined)[]): number | undefined {
  const items = operands.flat(2) as (Json | undefined)[];
  if (operands.includes(undefined)) return undefined;
  if (name === 'count') return items.length;
  const numbers = items.map(toNumber);
  if (numbers.length === 0 || numbers.includes(undefined)) return undefined;
  return name === 'min' ? Math.min(...(numbers as number[])) : Math.max(...(numbers as number[]));
}

function operate(operator: string, operands: readonly (Json | undefined)[]): Json | undefined {
  const [left, right] = operands;
  if (operator === 'and') return join(left, right, false);
  if (operator === 'or') return join(left, right, true);
  if (left === undefined) return undefined;
  if (operator === 'not') return typeof left === 'boolean' ? !left : undefined;
  const a = toNumber(left);
  if (operator === 'negate') return a === undefined ? undefined : -a;
  if (right === undefined) return undefined;
  if (operator === '==') return alike(left, right);
  if (operator === '!=') return !alike(left, right);
  const b = toNumber(right);
  return a === undefined || b === undefined ? undefined : calculate(operator, a, b);
}

/**
 * and/or: the deciding value if either side has it, its opposite if both sides have that, else no
 * value.
 */
function join(left: Json | undefined, right: Json | undefined, deciding: boolean): boolean | undefined {
  if (left === deciding || right === deciding) return deciding;
  return left === !deciding && right === !deciding ? !deciding : undefined;
}

function calculate(operator: string, a: number, b: number): number | boolean | undefined {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b === 0 ? undefined : a / b;
    case '%':
      return b === 0 ? undefined : a % b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    default:
      return a >= b;
  }
}

function toNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : undefined;
}
