import { isTrituneError } from '#base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { withoutServerDefaults } from '#space/edits/server-defaults.ts';
import { TRITON, toOriginal } from '#space/model-configs.ts';
import { plainShape, readShape } from '#space/shape.ts';

/**
 * Returns a line of a journal with its candidates' settings as a value. Version 1 (tritune 0.1.0)
 * knew only Triton: a candidate was the `config` of one model, and the study's `originalConfig` was
 * that of the model before the first change. Existing values stay as they are: a study begun by
 * 0.1.0 and resumed since has lines of both kinds.
 */
export function withCandidateValues(record: JsonObject): JsonObject {
  if (record.type === 'study-started' && record.originalConfig !== undefined) {
    const { originalConfig, ...rest } = record;
    return { ...rest, adapter: TRITON, original: originalFrom(originalConfig) };
  }
  if (record.type !== 'trial-started' || !isJsonObject(record.candidate)) return record;
  const { config, ...candidate } = record.candidate;
  if (config === undefined || candidate.value !== undefined) return record;
  return { ...record, candidate: { ...candidate, value: valueFrom(config), shape: shapeFrom(config) } };
}

/** Keeps an invalid config, so that the check of the record can report it. */
const originalFrom = (config: Json | undefined): Json =>
  whereSound<Json>(
    () => toOriginal(config as JsonObject) as unknown as Json,
    () => ({ fingerprint: '', assignment: {}, value: valueFrom(config), shape: asJson(plainShape({})) }),
  );

const shapeFrom = (config: Json): Json =>
  asJson(
    whereSound(
      () => (isEmpty(config) ? plainShape({}) : readShape(withoutServerDefaults(config as JsonObject))),
      () => plainShape({}),
    ),
  );

/** A candidate that was never built had the empty config. */
const isEmpty = (config: Json | undefined): boolean => isJsonObject(config) && Object.keys(config).length === 0;

function valueFrom(config: Json | undefined): JsonObject {
  if (isEmpty(config)) return {};
  const name = isJsonObject(config) && typeof config.name === 'string' ? config.name : '';
  return { models: { [name]: config } };
}

function whereSound<T>(read: () => T, otherwise: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isTrituneError(error, 'CONFIG_INVALID')) return otherwise();
    throw error;
  }
}

const asJson = (value: object): Json => value as unknown as Json;
