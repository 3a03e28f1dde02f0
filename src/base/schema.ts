import { z } from 'zod';
import type { Json, JsonObject } from './json.ts';

/** What the schemas of tritune's documents are made of. */

/**
 * Returns the schema of an object that a newer version may give further fields: they are kept, and
 * the type has only those that this version knows.
 */
export const openObject = <S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strip> => z.looseObject(shape);

/**
 * JSON has no NaN: a figure that could not be computed is written as null, and read as NaN again.
 */
export const figure = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.NaN);

/** A figure that documents of earlier versions lack. */
export const laterFigure = figure.default(Number.NaN);

export const count = z.int().nonnegative();

export const text = z.string();

export const json: z.ZodType<Json> = z.json();

/**
 * Returns the schema of an object of a document that was read as JSON: its fields are not looked
 * at.
 */
export const createJsonObject = <T extends JsonObject>(): z.ZodCustom<T, T> =>
  z
    .custom<T>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'not an object')
    .meta({ type: 'object', properties: {}, additionalProperties: {} });

export const jsonObject = createJsonObject<JsonObject>();

/**
 * Returns the JSON Schema (2020-12) of a document that this version writes. Readers keep the fields
 * that a newer version adds (`openObject`); this version writes no others than the schema has.
 */
export const writtenJsonSchema = (schema: z.ZodType): JsonObject =>
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'object') jsonSchema.additionalProperties = false;
    },
  }) as JsonObject;
