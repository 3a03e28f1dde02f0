import { canonicalJson, type Json, type JsonObject } from '#base/json.ts';
import type { ModelConfig } from './model-config.ts';
import { ConfigValueError, normaliseConfig } from './normal-form.ts';
import { defaultValue, type FieldSchema, type MessageSchema, mapEntrySchema, modelConfigSchema } from './schema.ts';
import { quote } from './strings.ts';
import { maxDepth, type UnknownField } from './unknown.ts';

export interface PrintOptions {
  /** Written above the config as comments, with a `#` before each line. */
  readonly comment?: string;
  /** Unknown fields of the original config file, with their spelling. */
  readonly unknownFields?: readonly UnknownField[];
}

/**
 * Returns the config as a config.pbtxt. Deterministic: fields in the order of their numbers, map
 * entries by key, then unknown fields by name. An unknown field keeps its spelling from the file as
 * long as it has the same value; otherwise, and if it came from a server, its spelling follows from
 * its JSON. Errors: CONFIG_INVALID (a ConfigValueError with the path) for a config without a normal
 * form.
 */
export function printConfigText(config: ModelConfig, options: PrintOptions = {}): string {
  const unknown = new Map(options.unknownFields?.map((field) => [field.path, field]));
  const comment = options.comment ? options.comment.split(/\r?\n/).map((line) => `# ${line}`.trimEnd()) : [];
  const lines = messageLines({ schema: modelConfigSchema(), unknown }, normaliseConfig(config), '');
  return [...comment, ...lines].map((line) => `${line}\n`).join('');
}

interface Printing {
  readonly schema: MessageSchema;
  readonly unknown: ReadonlyMap<string, UnknownField>;
}

function messageLines({ schema, unknown }: Printing, message: JsonObject, path: string): string[] {
  const known = schema.fields.flatMap((field) => {
    const value = Object.hasOwn(message, field.name) ? message[field.name] : undefined;
    return value === undefined ? [] : fieldLines(field, value, path ? `${path}.${field.name}` : field.name, unknown);
  });
  const rest = Object.keys(message)
    .filter((name) => schema.field(name) === undefined)
    .sort()
    .flatMap((name) => unknownLines(name, message[name] as Json, path ? `${path}.${name}` : name, unknown));
  return [...known, ...rest];
}

function fieldLines(field: FieldSchema, value: Json, path: string, unknown: Printing['unknown']): string[] {
  if (field.shape === 'map') return mapLines(field, value as JsonObject, path, unknown);
  if (field.value.type === 'message') {
    const schema = field.value.message;
    if (field.shape === 'single')
      return block(field.name, messageLines({ schema, unknown }, value as JsonObject, path));
    const items = (value as readonly JsonObject[]).map((item, i) =>
      block('', messageLines({ schema, unknown }, item, `${path}[${i}]`)),
    );
    return formatList(field.name, items);
  }
  if (field.shape === 'repeated') {
    const items = (value as readonly Json[]).map((item) => scalarText(field, item, path));
    return items.length > 0 ? [`${field.name}: [ ${items.join(', ')} ]`] : [];
  }
  const isDefault = field.oneof === undefined && value === defaultValue(field);
  return isDefault ? [] : [`${field.name}: ${scalarText(field, value, path)}`];
}

function mapLines(field: FieldSchema, map: JsonObject, path: string, unknown: Printing['unknown']): string[] {
  const [key, value] = mapEntrySchema(field).fields as readonly [FieldSchema, FieldSchema];
  const numeric = key.value.type === 'scalar' && key.value.scalar !== 'string' && key.value.scalar !== 'bool';
  const keys = Object.keys(map).sort(numeric ? (a, b) => Number(BigInt(a) - BigInt(b)) : undefined);
  return keys.flatMap((name) => {
    const place = `${path}[${JSON.stringify(name)}]`;
    const keyText = field.mapKey === 'string' ? quote(name) : name;
    // An empty text value is left out, like any scalar at its default.
    return block(field.name, [`key: ${keyText}`, ...fieldLines(value, map[name] as Json, place, unknown)]);
  });
}

function scalarText(field: FieldSchema, value: Json, path: string): string {
  if (field.value.type === 'enum' || typeof value === 'boolean') {
    const text = String(value);
    if (/^([A-Za-z_]\w*|-?\d+)$/.test(text)) return text;
    throw new ConfigValueError(path, `${quote(text)} is not a name of an enum value`);
  }
  if (typeof value === 'number') return numberText(value);
  // The text of a number: an integer that only text holds exactly, or a value that is not finite.
  return field.value.type === 'scalar' && field.value.scalar === 'string' ? quote(value as string) : notFinite(value);
}

/** Whole numbers beyond 64 bits must not look like integers. */
const numberText = (value: number): string =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && !String(value).includes('e') ? `${value}.0` : `${value}`;

const notFinite = (value: Json): string =>
  value === 'NaN' ? 'nan' : value === 'Infinity' ? 'inf' : value === '-Infinity' ? '-inf' : String(value);

function unknownLines(name: string, value: Json, path: string, unknown: Printing['unknown']): string[] {
  const asRead = unknown.get(path);
  if (asRead && canonicalJson(asRead.value) === canonicalJson(value)) return [asRead.text];
  return value === null ? [] : guessedLines(name, value, path, 0);
}

function guessedLines(name: string, value: Json, path: string, depth: number): string[] {
  if (!/^([A-Za-z_]\w*|\[[\w./]+\])$/.test(name))
    throw new ConfigValueError(path, `'${name}' is not a name of a field`);
  if (depth > maxDepth) throw new ConfigValueError(path, `messages are nested more than ${maxDepth} deep`);
  if (Array.isArray(value)) return value.flatMap((item) => guessedLines(name, item, path, depth + 1));
  if (value !== null && typeof value === 'object') {
    const inner = Object.entries(value as JsonObject).flatMap(([key, item]) =>
      item === undefined || item === null ? [] : guessedLines(key, item, `${path}.${key}`, depth + 1),
    );
    return block(name, inner);
  }
  // Enum values in all of Triton's messages have names of this form: KIND_GPU, TYPE_FP32.
  const isEnumName = typeof value === 'string' && /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(value);
  if (typeof value === 'string' && !isEnumName) return [`${name}: ${quote(value)}`];
  return [`${name}: ${typeof value === 'number' ? numberText(value) : value}`];
}

const block = (name: string, inner: readonly string[]): string[] => {
  const open = name ? `${name} {` : '{';
  return inner.length > 0 ? [open, ...inner.map((line) => `  ${line}`), '}'] : [`${open} }`];
};

function formatList(name: string, items: readonly (readonly string[])[]): string[] {
  const lines = items.flatMap((item, i) => {
    const comma = i < items.length - 1 ? ',' : '';
    return item.map((line, at) => (at === item.length - 1 ? `  ${line}${comma}` : `  ${line}`));
  });
  return lines.length > 0 ? [`${name} [`, ...lines, ']'] : [];
}
