import { createHash } from 'node:crypto';
import { isTrituneError } from '#base/errors.ts';
import { canonicalJsonOfShared, isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { type Artifact, artifactToJson, withoutMark } from './artifact.ts';
import { readPath } from './edits/config-path.ts';
import { withoutServerDefaults } from './edits/server-defaults.ts';
import { readShape } from './shape.ts';
import type { Assignment, Candidate, ConfigPath, Preparation } from './types.ts';

/** The name that Triton's adapter has in journals. */
export const TRITON = 'triton';

/** The value of a candidate for Triton: a set of model configs by the models' names. */
export type ModelConfigs = { readonly [model: string]: ModelConfig };

/**
 * Returns the candidate of this one model config, served from these files; by default from the
 * server's own.
 */
export function toCandidate(config: ModelConfig, assignment: Assignment = {}, artifact?: Artifact): Candidate {
  return {
    fingerprint: computeFingerprint(config),
    assignment,
    value: {
      models: { [config.name ?? '']: config },
      ...(artifact && { artifact: artifactToJson(artifact) }),
    },
    shape: { ...readShape(config), ...(artifact && { preparation: toPreparation(artifact) }) },
  };
}

/**
 * Returns the server's candidate before the first change. Its value is the exact config, so that
 * applying it needs no load; its fingerprint and shape are those of the same config as a search
 * builds it. `others`: the configs of other models of the study at that time; applying the original
 * leaves them as they are. Errors: CONFIG_INVALID for a wrong config.
 */
export function toOriginal(config: ModelConfig, others: ModelConfigs = {}): Candidate {
  const { value } = toCandidate(config);
  const isAlone = Object.keys(others).length === 0;
  return { ...toCandidate(withoutServerDefaults(config)), value: isAlone ? value : { ...value, others } };
}

const toPreparation = ({ variant, digest, build }: Artifact): Preparation => ({
  key: digest,
  name: variant,
  seconds: build?.seconds ?? 0,
});

function computeFingerprint(config: ModelConfig): string {
  return createHash('sha256')
    .update(canonicalJsonOfShared(config as JsonObject))
    .digest('hex')
    .slice(0, 12);
}

/**
 * Returns a candidate's configs, model by model; none for a candidate of a server other than
 * Triton.
 */
export function toModelConfigs({ value }: Pick<Candidate, 'value'>): ModelConfigs {
  return isJsonObject(value.models) ? (value.models as ModelConfigs) : {};
}

/**
 * Returns the configs of the models that a study may serve besides its original; none for a study
 * of a single model.
 */
export function toOtherConfigs({ value }: Pick<Candidate, 'value'>): ModelConfigs {
  return isJsonObject(value.others) ? (value.others as ModelConfigs) : NO_CONFIGS;
}

/**
 * Returns the config of a candidate's only model, or of its first; the empty one if it has none.
 */
export const toModelConfig = (candidate: Pick<Candidate, 'value'>): ModelConfig =>
  Object.values(toModelConfigs(candidate))[0] ?? NO_CONFIG;

/**
 * Returns the config of this model under a candidate, for clients' requests. For models that are
 * tuned together: `otherwise` if the candidate leaves it alone. For a single model: the config of
 * the model that serves in its place.
 */
export function configOfModel(candidate: Candidate, model: string, otherwise?: ModelConfig): ModelConfig {
  if (!candidate.shape.members) return toModelConfig(candidate);
  return lookUp(toModelConfigs(candidate), model) ?? otherwise ?? lookUp(toOtherConfigs(candidate), model) ?? NO_CONFIG;
}

/** A single object, because bindings are memoized by their base configs. */
const NO_CONFIG: ModelConfig = {};
const NO_CONFIGS: ModelConfigs = {};

/**
 * Returns a candidate's settings as one document for people and scripts: the config of its only
 * model, an engine's settings, or else its whole value.
 */
export function toDocument(candidate: Pick<Candidate, 'value'>): JsonObject {
  const [config, ...others] = Object.values(toModelConfigs(candidate));
  if (config && others.length === 0) return withoutMark(config);
  const { engineSettings } = candidate.value;
  return isJsonObject(engineSettings) ? engineSettings : candidate.value;
}

/**
 * Returns the candidate's value at a path of its only model's config, or of its engine's settings;
 * undefined if there is none.
 */
export function readField(candidate: Candidate, path: ConfigPath): Json | undefined {
  const { engineSettings } = candidate.value;
  const config = toModelConfig(candidate) as JsonObject;
  return readPath(isJsonObject(engineSettings) ? { ...config, ...engineSettings } : config, path);
}

/**
 * True if every part of the value that is read as a model config is one, so that its fields have
 * the expected types.
 */
export const isSound = (value: JsonObject): boolean =>
  [value.models, value.others].every((models) => !isJsonObject(models) || Object.values(models).every(isModelConfig));

function isModelConfig(value: unknown): boolean {
  try {
    normaliseConfig(value);
    return !holdsNull(value);
  } catch (error) {
    if (isTrituneError(error, 'CONFIG_INVALID')) return false;
    throw error;
  }
}

/** In a config before normalisation null means no value; after it there is no null. */
const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value as object).some(holdsNull));
