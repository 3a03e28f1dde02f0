import type { Json } from '#base/json.ts';
import type { ConfigLexer } from './lexer.ts';
import { quote } from './strings.ts';
import { readString } from './values.ts';

/** A field of a config file that our ModelConfig lacks: from a newer server, or misspelled. */
export interface UnknownField {
  /** Such as `dynamic_batching.new_field`. */
  readonly path: string;
  readonly line: number;
  /** In text format on one line; every occurrence of the field in its message. */
  readonly text: string;
  /** Its value in the ModelConfig, as accurately as JSON can express it without the type. */
  readonly value: Json;
}

/** The depth limit of the protobuf libraries. */
export const maxDepth = 100;

interface UnknownValue {
  readonly text: string;
  readonly json: Json;
}

/** The unknown fields of one message, by name, in file order. */
export class UnknownOccurrences {
  readonly #byName = new Map<string, { line: number; texts: string[]; values: Json[]; list: boolean }>();

  /** Reads the part after the name. */
  read(lexer: ConfigLexer, name: string, line: number, depth: number): void {
    const colon = lexer.accept(':');
    if (!colon && !lexer.at('{', '<', '[')) lexer.failExpecting(`':' or '{' after '${name}'`);
    const list = lexer.at('[');
    const { text, json } = readValue(lexer, depth);
    const entry = this.#byName.get(name) ?? { line, texts: [], values: [], list: false };
    entry.texts.push(text.startsWith('{') ? `${name} ${text}` : `${name}: ${text}`);
    // One by one, because the number of arguments of a call is limited.
    for (const value of list ? (json as readonly Json[]) : [json]) entry.values.push(value);
    entry.list ||= list;
    this.#byName.set(name, entry);
  }

  fields(): UnknownField[] {
    return [...this.#byName].map(([path, { line, texts, values, list }]) => ({
      path,
      line,
      text: texts.join(' '),
      value: list || values.length > 1 ? values : (values[0] as Json),
    }));
  }
}

/** Reads a field name: an identifier, or an extension in brackets. */
export function readFieldName(lexer: ConfigLexer): string {
  if (lexer.next.kind === 'name') return lexer.take().text;
  if (!lexer.accept('[')) return lexer.failExpecting('a field name');
  let name = '';
  while (lexer.at('.', '/') || isName(lexer)) name += lexer.take().text;
  lexer.expect(']', 'after the name of an extension');
  return `[${name}]`;
}

const isName = (lexer: ConfigLexer): boolean => lexer.next.kind === 'name';

function readValue(lexer: ConfigLexer, depth: number): UnknownValue {
  if (depth > maxDepth) lexer.fail(`messages are nested more than ${maxDepth} deep`);
  if (lexer.accept('{')) return readFields(lexer, '}', depth);
  if (lexer.accept('<')) return readFields(lexer, '>', depth);
  if (lexer.accept('[')) return readList(lexer, depth);
  if (lexer.next.kind === 'string') {
    const text = readString(lexer, 'a string');
    return { text: quote(text), json: text };
  }
  const sign = lexer.accept('-') ? '-' : '';
  const { kind, text } = lexer.next;
  if (kind !== 'number' && kind !== 'name') return lexer.failExpecting('a value');
  lexer.take();
  return { text: sign + text, json: kind === 'number' ? toNumber(sign, text) : toName(sign, text) };
}

function readList(lexer: ConfigLexer, depth: number): UnknownValue {
  const items: UnknownValue[] = [];
  if (!lexer.accept(']')) {
    do items.push(readValue(lexer, depth + 1));
    while (lexer.accept(','));
    lexer.expect(']', 'or a comma in the list');
  }
  return { text: `[${items.map((item) => item.text).join(', ')}]`, json: items.map((item) => item.json) };
}

function readFields(lexer: ConfigLexer, close: string, depth: number): UnknownValue {
  const occurrences = new UnknownOccurrences();
  while (!lexer.accept(close)) {
    const { line } = lexer.next;
    occurrences.read(lexer, readFieldName(lexer), line, depth + 1);
    lexer.accept(',', ';');
  }
  const fields = occurrences.fields();
  const inner = fields.map((field) => field.text).join(' ');
  return {
    text: inner ? `{ ${inner} }` : '{ }',
    json: Object.fromEntries(fields.map((field) => [field.path, field.value])),
  };
}

function toNumber(sign: string, text: string): Json {
  const value = Number(/^0[0-7]+$/.test(text) ? `0o${text.slice(1)}` : text.replace(/^(?!0x)(.*)f$/i, '$1'));
  const signed = sign ? -value : value;
  const lossy = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return lossy ? sign + text : signed + 0;
}

function toName(sign: string, text: string): Json {
  return sign === '' && (text === 'true' || text === 'false') ? text === 'true' : sign + text;
}
