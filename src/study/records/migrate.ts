import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { specToJson } from '#spec/study-spec.ts';
import { withCandidateValues } from './candidate-values.ts';

/**
 * The steps from earlier forms of a line to this version's, in order; each leaves other lines
 * alone.
 */
const migrations: readonly ((record: JsonObject) => JsonObject)[] = [withSpec, withCandidateValues];

/**
 * Returns a line of a journal in the form of this version; anything but a record stays as it is.
 * Errors: USAGE for options that are no study.
 */
export function migrated(value: unknown): unknown {
  if (!isJsonObject(value as Json)) return value;
  return migrations.reduce((record, migrate) => migrate(record), value as JsonObject);
}

/**
 * `study-started` of version 1 (tritune 0.1.0) holds the options of the command line instead of the
 * study's spec.
 */
function withSpec(record: JsonObject): JsonObject {
  if (record.type !== 'study-started' || record.schemaVersion !== 1) return record;
  const { options, ...rest } = record;
  if (!isJsonObject(options)) return record;
  const spec = toSpec({ ...options, model: String(record.model) });
  return { ...rest, schemaVersion: 2, spec: specToJson(spec) };
}
