import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { readYaml, YamlFault } from '#base/yaml.ts';

/** A kind of document, such as a study, whose fields `--set` reaches. */
export interface SettableDocument {
  readonly name: string;
  readonly schema: z.ZodObject;
  /** The page that lists its fields. */
  readonly page: string;
}

/** A new value of one field of a document. */
export interface SpecChange {
  /** The names of the sections, and that of the field. */
  readonly path: readonly string[];
  /** null removes the field. */
  readonly value: Json;
}

/** A JSON Schema (2020-12) of a part of a spec. */
type Schema = JsonObject;

interface DocumentSchema {
  readonly root: Schema;
  /** Those that it refers to by name. */
  readonly named: Named;
}

type Named = Readonly<Record<string, Schema>>;

const schemas = new WeakMap<z.ZodObject, DocumentSchema>();

/** Returns the schema of a document; it is made once, which takes milliseconds. */
function findSchema({ schema }: SettableDocument): DocumentSchema {
  const before = schemas.get(schema);
  if (before !== undefined) return before;
  const { $defs, ...root } = z.toJSONSchema(schema, { io: 'input' }) as Schema;
  const made = { root, named: ($defs ?? {}) as Named };
  schemas.set(schema, made);
  return made;
}

/** Returns the schemas of the fields of a section; none of anything else. */
function toFields(part: Schema, named: Named): Readonly<Record<string, Schema>> {
  const { properties } = resolved(part, named);
  return (isJsonObject(properties) ? properties : {}) as Readonly<Record<string, Schema>>;
}

/** Returns the schema that a reference such as `#/$defs/prices` leads to. */
function resolved(part: Schema, named: Named): Schema {
  const name = typeof part.$ref === 'string' ? part.$ref.replace('#/$defs/', '') : null;
  return name === null ? part : (lookUp(named, name) ?? {});
}

/** Returns the paths of all fields of a document that a text can set: `limits.maxTrials`. */
export function specPaths(document: SettableDocument): readonly string[] {
  const { root, named } = findSchema(document);
  return pathsIn(root, named);
}

function pathsIn(section: Schema, named: Named): readonly string[] {
  return Object.entries(toFields(section, named)).flatMap(([name, field]) => {
    const inner = pathsIn(field, named);
    return inner.length === 0 ? [name] : inner.map((path) => `${name}.${path}`);
  });
}

/**
 * Reads `PATH=VALUE`, the form of `--set`: the path of a field of the document, such as
 * `limits.maxTrials`, and its value as YAML; the value of a field that holds text is taken as it
 * is. Below a field with names of its own, the path goes on with one: `goal.modelBudgetsMs.a=8`.
 * Errors: USAGE for another form and for a path that leads nowhere.
 */
export function readSpecChange(text: string, document: SettableDocument): SpecChange {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`'${text}' is not PATH=VALUE`, 'write for example --set traffic.batch=8');
  const path = text.slice(0, at).split('.');
  const valueText = text.slice(at + 1);
  // YAML can hide a header's value from those who look for it in a command line.
  if (path[0] === 'server' && path[1] === 'header') throw usage('--set takes no header', 'give it with --header');
  const { type, fields } = fieldAt(path, document);
  const value = type === 'string' && valueText !== 'null' ? valueText : readValue(valueText);
  const isWhole = value === null || (isJsonObject(value) && path[0] !== 'server');
  if (fields.length === 0 || isWhole) return { path, value };
  const inner = fields.map((name) => [...path, name].join('.')).join(', ');
  throw usage(`'${path.join('.')}' is a section of a ${document.name}`, `set one of its fields: ${inner}`);
}

/**
 * Returns the type of a field, and the names of its own fields. Errors: USAGE for a path that leads
 * to none.
 */
function fieldAt(
  path: readonly string[],
  document: SettableDocument,
): { readonly type: Json | undefined; readonly fields: readonly string[] } {
  const written = path.join('.');
  const { root, named } = findSchema(document);
  let here = resolved(root, named);
  for (const name of path) {
    const next = lookUp(toFields(here, named), name) ?? here.additionalProperties;
    if (!isJsonObject(next))
      throw usage(
        `a ${document.name} has no field '${written}'${didYouMean(written, specPaths(document))}`,
        `${document.page} lists the fields`,
      );
    here = resolved(next, named);
  }
  return { type: here.type, fields: Object.keys(toFields(here, named)) };
}

function readValue(text: string): Json {
  try {
    return readYaml(text).value as Json;
  } catch (error) {
    if (error instanceof YamlFault)
      throw usage(`'${text}' is no value: ${error.message}`, 'write it as in YAML, such as 5, true or [a, b]');
    throw error;
  }
}

/** Returns the spec with the change. */
export function withChange(spec: JsonObject, { path: [name = '', ...rest], value }: SpecChange): JsonObject {
  const { [name]: before, ...others } = spec;
  if (rest.length > 0) {
    const section = isJsonObject(before) ? before : {};
    return { ...others, [name]: withChange(section, { path: rest, value }) };
  }
  return value === null ? others : { ...others, [name]: value };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
