import { didYouMean } from '#base/nearest.ts';
import { FieldFault } from './edits/config-fields.ts';
import { type Names, parseSubject } from './subject.ts';
import type { Expression } from './types.ts';

/** From weakest to strongest; all group to the left. */
const precedence: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['==', '!=', '<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
];
const functions = ['min', 'max', 'count'];
const maxDepth = 40;

const tokenPattern =
  /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|('[^']*'|"[^"]*")|((?!\d)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[(?:\d+|"[^"]*"|\w+=[^\]\s]+)\])*)|(==|!=|<=|>=|[-+*/%<>(),])|(\S))/y;

interface Token {
  readonly kind: 'number' | 'text' | 'name' | 'sign' | 'end';
  readonly text: string;
}

/**
 * Reads a rule's relation, as `parseValue` does. Throws a FieldFault that says what cannot be read.
 */
export function parseExpression(text: string, names: Names): Expression {
  const whole = parseValue(text, names);
  if (whole.kind !== 'operation' || ['+', '-', '*', '/', '%', 'negate'].includes(whole.operator)) {
    throw new FieldFault(`'${text}' is not a relation: compare something, as in a <= b`);
  }
  return whole;
}

/**
 * Reads an expression of any value: numbers, text, true/false, parameters, `config.`/`base.`
 * fields, `limits.`, + - * / %, == != < <= > >=, and/or/not, min(), max(), count(). Throws a
 * FieldFault that says what cannot be read.
 */
export function parseValue(text: string, names: Names): Expression {
  const tokens = tokenize(text);
  let next = 0;
  const peek = (): Token => tokens[next] as Token;
  const take = (sign: string): boolean => {
    if (peek().text !== sign || peek().kind === 'text') return false;
    next += 1;
    return true;
  };
  const expect = (sign: string): void => {
    if (!take(sign)) throw new FieldFault(`'${text}': expected '${sign}' ${where(peek())}`);
  };
  const parseLevel = (level: number, depth: number): Expression => {
    if (depth > maxDepth) throw new FieldFault(`'${text}' is nested too deeply`);
    const operators = precedence[level];
    if (operators === undefined) return parseUnary(depth);
    let left = parseLevel(level + 1, depth);
    for (;;) {
      const operator = operators.find((sign) => take(sign));
      if (operator === undefined) return left;
      left = { kind: 'operation', operator, of: [left, parseLevel(level + 1, depth)] };
    }
  };
  const parseUnary = (depth: number): Expression => {
    if (depth > maxDepth) throw new FieldFault(`'${text}' is nested too deeply`);
    if (take('-')) return { kind: 'operation', operator: 'negate', of: [parseUnary(depth + 1)] };
    if (take('not')) return { kind: 'operation', operator: 'not', of: [parseLevel(2, depth + 1)] };
    if (take('(')) {
      const inner = parseLevel(0, depth + 1);
      expect(')');
      return inner;
    }
    return parseOperand(depth);
  };
  const parseOperand = (depth: number): Expression => {
    const token = peek();
    next += 1;
    if (token.kind === 'number') return { kind: 'value', value: Number(token.text) };
    if (token.kind === 'text') return { kind: 'value', value: token.text };
    if (token.kind !== 'name') throw new FieldFault(`'${text}': expected a value ${where(token)}`);
    if (token.text === 'true' || token.text === 'false') return { kind: 'value', value: token.text === 'true' };
    if (!take('(')) return { kind: 'subject', subject: parseSubject(token.text, names) };
    if (!functions.includes(token.text)) {
      throw new FieldFault(`'${text}': there is no function '${token.text}'${didYouMean(token.text, functions)}`);
    }
    const of = [parseLevel(0, depth + 1)];
    while (take(',')) of.push(parseLevel(0, depth + 1));
    expect(')');
    return { kind: 'call', function: token.text, of };
  };
  const whole = parseLevel(0, 0);
  if (peek().kind !== 'end') throw new FieldFault(`'${text}': unexpected ${where(peek())}`);
  return whole;
}

function where(token: Token): string {
  return token.kind === 'end' ? 'at the end' : `at '${token.text}'`;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const trimmed = text.trimEnd();
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < trimmed.length) {
    const [, number, quoted, name, sign, other] = tokenPattern.exec(trimmed) as RegExpExecArray;
    if (other !== undefined) {
      throw new FieldFault(`'${text}': '${other}' cannot be read${other === '=' ? ' (equality is ==)' : ''}`);
    }
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted.slice(1, -1) });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else tokens.push({ kind: 'sign', text: sign as string });
  }
  return [...tokens, { kind: 'end', text: '' }];
}
