/** The part of JSON Schema (2020-12) that zod prints and reference pages read. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema | boolean;
  readonly prefixItems?: readonly JsonSchema[];
  readonly minItems?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** Returns the name of the definition that the schema refers to; undefined if it refers to none. */
export const definitionName = ({ $ref }: JsonSchema): string | undefined => $ref?.replace('#/$defs/', '');

/** Returns the definition of that name. Errors: a name that the document lacks. */
export function definitionOf(document: JsonSchema, name: string): JsonSchema {
  const found = document.$defs?.[name];
  if (!found) throw new Error(`the schema has no definition '${name}'`);
  return found;
}

/**
 * Returns the forms that a value may have: those of a union at any depth, or the schema itself.
 * References are followed.
 */
export function formsOf(document: JsonSchema, schema: JsonSchema): readonly JsonSchema[] {
  const name = definitionName(schema);
  if (name !== undefined) return formsOf(document, definitionOf(document, name));
  const union = schema.anyOf ?? schema.oneOf;
  return union ? union.flatMap((each) => formsOf(document, each)) : [schema];
}

/** True for zod's definition of any JSON value, which is a union with lists of itself. */
export function isAnyValue(document: JsonSchema, schema: JsonSchema): boolean {
  const name = definitionName(schema);
  const list = (name === undefined ? schema : definitionOf(document, name)).anyOf?.find(({ type }) => type === 'array');
  return typeof list?.items === 'object' && name !== undefined && definitionName(list.items) === name;
}

/** True if the object's fields have a form: named ones, or one for every name. */
export const hasFields = ({ properties }: JsonSchema): boolean => Object.keys(properties ?? {}).length > 0;

/**
 * Returns the form of fields whose names are free; undefined if there are none, or they may hold
 * anything.
 */
export function formOfOthers({ additionalProperties }: JsonSchema): JsonSchema | undefined {
  const isForm = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0;
  return isForm ? additionalProperties : undefined;
}
