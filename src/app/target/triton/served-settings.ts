import { join } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { isJsonObject, type JsonObject } from '#base/json.ts';
import { readDocument } from '#base/read-document.ts';
import { buildCandidate } from '#space/candidate.ts';
import { withEngineSettings } from '#space/engine-candidate.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';

/**
 * Returns the original with the known settings of its engine. Errors: USAGE if they are unknown but
 * must be changed; INPUT_INVALID.
 */
export function withEngine(original: Candidate, space: SearchSpace, spec: StudySpec): Candidate {
  if (!space.engine && !space.law) return original;
  const settled = space.engine ? withEngineSettings(original, { engine: servedSettings(spec, space) }) : original;
  const built = buildCandidate(space, settled, {});
  return built.legal ? { ...settled, shape: built.candidate.shape } : settled;
}

/** An upload replaces the whole settings file, so its contents must be known. */
function servedSettings({ server, model }: StudySpec, { name }: SearchSpace): JsonObject {
  const { engineSettings, modelRepository } = server;
  const file = engineSettings ?? (modelRepository && join(modelRepository, model, '1', 'model.json'));
  if (file === undefined) {
    throw new TrituneError(
      'USAGE',
      `the search space '${name}' changes settings in the model.json of '${model}', which cannot be read from the server`,
      'give that file, for example --engine-settings 1/model.json',
    );
  }
  return readSettings(file);
}

/** Returns the settings in a `model.json`. Errors: INPUT_INVALID. */
export function readSettings(file: string): JsonObject {
  try {
    const value = readDocument(file);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new TrituneError('INPUT_INVALID', `cannot read ${file}: ${formatMessage(error)}`, 'give a JSON file', {
      cause: error,
    });
  }
  throw new TrituneError('INPUT_INVALID', `${file} contains no settings`, 'give the model.json of the served model');
}
