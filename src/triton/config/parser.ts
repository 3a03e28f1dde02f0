import type { Json, JsonObject } from '#base/json.ts';
import { ConfigLexer } from './lexer.ts';
import type { ModelConfig } from './model-config.ts';
import { normaliseConfig } from './normal-form.ts';
import { defaultValue, type FieldSchema, type MessageSchema, mapEntrySchema, modelConfigSchema } from './schema.ts';
import { maxDepth, readFieldName, type UnknownField, UnknownOccurrences } from './unknown.ts';
import { readScalar } from './values.ts';

export interface ParsedConfig {
  /** In normal form, including unknown fields. */
  readonly config: ModelConfig;
  /** In file order, for the user and for `printConfigText`. */
  readonly unknownFields: readonly UnknownField[];
}

/**
 * Reads a config.pbtxt: protobuf text format, all of ModelConfig. `fileName` is the name of the
 * file in errors. Errors: CONFIG_INVALID as FILE:LINE:COLUMN with what was expected. As in
 * protobuf, it is an error to repeat a field that is not repeated, or to give two members of a
 * oneof. 64-bit integers must be exact as JSON numbers.
 */
export function parseConfigText(text: string, fileName: string): ParsedConfig {
  const lexer = new ConfigLexer(text, fileName);
  const { json, unknownFields } = new MessageReader(lexer, modelConfigSchema(), 0).read(undefined);
  return { config: normaliseConfig(json), unknownFields };
}

interface MessageRead {
  readonly json: JsonObject;
  /** Paths are relative to this message. */
  readonly unknownFields: readonly UnknownField[];
}

/** Reads the fields of one message. */
class MessageReader {
  readonly #lexer: ConfigLexer;
  readonly #schema: MessageSchema;
  readonly #depth: number;
  readonly #values = new Map<FieldSchema, Json[]>();
  readonly #unknown = new UnknownOccurrences();
  readonly #unknownWithin: UnknownField[] = [];
  readonly #oneofs = new Map<string, string>();

  constructor(lexer: ConfigLexer, schema: MessageSchema, depth: number) {
    if (depth > maxDepth) lexer.fail(`messages are nested more than ${maxDepth} deep`);
    this.#lexer = lexer;
    this.#schema = schema;
    this.#depth = depth;
  }

  /**
   * Reads up to and including the closing bracket, or up to the end of the file if there is none.
   */
  read(close: string | undefined): MessageRead {
    while (close ? !this.#lexer.accept(close) : this.#lexer.next.kind !== 'end') {
      this.#readField();
      this.#lexer.accept(',', ';');
    }
    const unknown = this.#unknown.fields();
    const known = [...this.#values].map(([field, values]) => [field.name, combined(field, values)] as const);
    return {
      json: Object.fromEntries([...known, ...unknown.map((field) => [field.path, field.value] as const)]),
      unknownFields: [...this.#unknownWithin, ...unknown].sort((a, b) => a.line - b.line),
    };
  }

  #readField(): void {
    const place = this.#lexer.next;
    const name = readFieldName(this.#lexer);
    const field = this.#schema.field(name);
    if (field) {
      this.#refuseSecond(field, place);
      this.#readValues(field);
      return;
    }
    const meant = this.#schema.jsonField(name);
    if (meant) this.#lexer.fail(`'${name}' is spelled '${meant.name}' in a config file`, place);
    if (this.#schema.isMapEntry) this.#lexer.fail(`a map entry has 'key' and 'value', not '${name}'`, place);
    this.#unknown.read(this.#lexer, name, place.line, this.#depth + 1);
  }

  #refuseSecond(field: FieldSchema, place: { line: number; column: number }): void {
    if (field.shape === 'single' && this.#values.has(field)) {
      this.#lexer.fail(`'${field.name}' is given a second time, but it is not a list`, place);
    }
    if (field.oneof === undefined) return;
    const other = this.#oneofs.get(field.oneof);
    if (other) this.#lexer.fail(`'${field.name}' excludes '${other}', which is given above`, place);
    this.#oneofs.set(field.oneof, field.name);
  }

  #readValues(field: FieldSchema): void {
    const colon = this.#lexer.accept(':');
    const isMessage = field.shape === 'map' || field.value.type === 'message';
    if (!colon && !isMessage) this.#lexer.failExpecting(`':' after '${field.name}'`);
    if (field.shape !== 'single' && this.#lexer.accept('[')) this.#readList(field);
    else this.#readValue(field);
  }

  #readList(field: FieldSchema): void {
    if (!this.#values.has(field)) this.#values.set(field, []);
    if (this.#lexer.accept(']')) return;
    do this.#readValue(field);
    while (this.#lexer.accept(','));
    this.#lexer.expect(']', `or a comma in the list of '${field.name}'`);
  }

  #readValue(field: FieldSchema): void {
    const values = this.#values.get(field) ?? [];
    this.#values.set(field, values);
    if (field.shape !== 'map' && field.value.type !== 'message') {
      values.push(readScalar(this.#lexer, field.value, field.name));
      return;
    }
    const schema = field.shape === 'map' ? mapEntrySchema(field) : (field.value as { message: MessageSchema }).message;
    const { json, unknownFields } = this.#readNested(schema, field.name);
    const place = formatPlace(field, values.length, json);
    values.push(json);
    for (const unknown of unknownFields) {
      // In JSON, unknown parts of a map's value are at the key, not at an entry's `value`.
      const path = field.shape === 'map' ? unknown.path.replace(/^value\.?/, '') : unknown.path;
      this.#unknownWithin.push({ ...unknown, path: `${place}.${path}` });
    }
  }

  #readNested(schema: MessageSchema, name: string): MessageRead {
    const open = this.#lexer.next.text;
    if (!this.#lexer.accept('{', '<')) this.#lexer.failExpecting(`'{' for '${name}'`);
    return new MessageReader(this.#lexer, schema, this.#depth + 1).read(open === '{' ? '}' : '>');
  }
}

function formatPlace(field: FieldSchema, index: number, json: JsonObject): string {
  if (field.shape === 'map') return `${field.name}[${JSON.stringify(toKey(field, json))}]`;
  return field.shape === 'repeated' ? `${field.name}[${index}]` : field.name;
}

/**
 * Returns all occurrences of a field as JSON. Of two map entries with the same key the later one
 * counts, as in protobuf.
 */
function combined(field: FieldSchema, values: readonly Json[]): Json {
  if (field.shape === 'single') return values[0] as Json;
  if (field.shape === 'repeated') return values;
  const value = mapEntrySchema(field).field('value') as FieldSchema;
  const entries = (values as readonly JsonObject[]).map((json): [string, Json] => [
    toKey(field, json),
    json.value ?? defaultValue(value),
  ]);
  return Object.fromEntries(entries);
}

const toKey = (field: FieldSchema, json: JsonObject): string =>
  String(json.key ?? defaultValue(mapEntrySchema(field).field('key') as FieldSchema));
