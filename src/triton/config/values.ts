import type { Json } from '#base/json.ts';
import type { ConfigLexer } from './lexer.ts';
import { floatValue, integerValue } from './scalars.ts';
import type { FloatKind, IntegerKind, ScalarKind, ValueSchema } from './schema.ts';
import { unquote } from './strings.ts';

const truths: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['t', true],
  ['false', false],
  ['False', false],
  ['f', false],
]);

/**
 * Reads one scalar or enum value of a known field. Errors: CONFIG_INVALID with the position and
 * what was expected.
 */
export function readScalar(lexer: ConfigLexer, schema: Exclude<ValueSchema, { type: 'message' }>, field: string): Json {
  if (schema.type === 'enum') return readEnum(lexer, schema, field);
  return readers[schema.scalar](lexer, schema.scalar, field);
}

/** Reads one string; joins adjacent literals. */
export function readString(lexer: ConfigLexer, expected: string): string {
  const place = lexer.next;
  const literals: string[] = [];
  while (lexer.next.kind === 'string') literals.push(lexer.take().text);
  if (literals.length === 0) return lexer.failExpecting(expected);
  try {
    return unquote(literals);
  } catch (error) {
    return lexer.fail((error as Error).message, place);
  }
}

type ScalarReader = (lexer: ConfigLexer, kind: ScalarKind, field: string) => Json;

const readInteger: ScalarReader = (lexer, kind, field) => {
  const place = lexer.next;
  const value = takeInteger(lexer, `a whole number for '${field}'`);
  return integerValue(kind as IntegerKind, value, (reason) => lexer.fail(`'${field}': ${reason}`, place));
};

const readFloat: ScalarReader = (lexer, kind, field) => {
  const place = lexer.next;
  const negative = lexer.accept('-');
  const { text } = lexer.next;
  const value = parseFloatValue(lexer.next.kind, text);
  if (value === undefined) return lexer.failExpecting(`a number for '${field}'`);
  lexer.take();
  return floatValue(kind as FloatKind, negative ? -value : value, (reason) =>
    lexer.fail(`'${field}': ${reason}`, place),
  );
};

const readers: Readonly<Record<ScalarKind, ScalarReader>> = {
  string: (lexer, _kind, field) => readString(lexer, `a quoted string for '${field}'`),
  bool: (lexer, _kind, field) => {
    const { kind, text } = lexer.next;
    const number = kind === 'number' ? parseInteger(text) : undefined;
    const value = kind === 'name' ? truths.get(text) : number === 0n || number === 1n ? number === 1n : undefined;
    if (value === undefined) return lexer.failExpecting(`true or false for '${field}'`);
    lexer.take();
    return value;
  },
  int32: readInteger,
  uint32: readInteger,
  int64: readInteger,
  uint64: readInteger,
  float: readFloat,
  double: readFloat,
};

function readEnum(lexer: ConfigLexer, schema: Extract<ValueSchema, { type: 'enum' }>, field: string): Json {
  if (lexer.next.kind === 'name' && schema.numbers.has(lexer.next.text)) return lexer.take().text;
  const expected = `one of ${[...schema.numbers.keys()].join(', ')} for '${field}'`;
  if (lexer.next.kind === 'name') return lexer.failExpecting(expected);
  const place = lexer.next;
  const number = integerValue('int32', takeInteger(lexer, expected), (reason) => lexer.fail(reason, place));
  return schema.names.get(number as number) ?? number;
}

function takeInteger(lexer: ConfigLexer, expected: string): bigint {
  const negative = lexer.accept('-');
  const value = lexer.next.kind === 'number' ? parseInteger(lexer.next.text) : undefined;
  if (value === undefined) return lexer.failExpecting(expected);
  lexer.take();
  return negative ? -value : value;
}

/**
 * Reads a decimal, hexadecimal (0x…) or octal (0…) integer. The length is capped: no integer type
 * has more digits.
 */
function parseInteger(text: string): bigint | undefined {
  if (text.length > 30) return undefined;
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`);
  return /^(0|[1-9]\d*|0[xX][0-9a-fA-F]+)$/.test(text) ? BigInt(text) : undefined;
}

function parseFloatValue(kind: string, text: string): number | undefined {
  if (kind === 'name') {
    if (/^inf(inity)?f?$/i.test(text)) return Number.POSITIVE_INFINITY;
    return /^nanf?$/i.test(text) ? Number.NaN : undefined;
  }
  if (kind !== 'number' || /^0[xX]/.test(text) || /^0\d+$/.test(text)) return undefined;
  return Number(text.replace(/f$/i, ''));
}
