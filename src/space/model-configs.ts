import { createHash } from 'node:crypto';
import { isTrituneError } from '../base/errors.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { ModelConfig } from '../triton/config/model-config.ts';
import { normaliseConfig } from '../triton/config/normal-form.ts';
import { type Artifact, artifactToJson, withoutMark } from './artifact.ts';
import { readPath } from './edits/config-path.ts';
import { withoutServerDefaults } from './edits/server-defaults.ts';
import { shapeOf } from './shape.ts';
import type { Assignment, Candidate, ConfigPath, Preparation } from './types.ts';

/** The name that Triton's adapter has in journals. */
export const TRITON = 'triton';

/** The value of a candidate for Triton: a set of model configs by the models' names. */
export type ModelConfigs = { readonly [model: string]: ModelConfig };

/** Returns the candidate that is this one model config, served from these files; from those that the server has where not given. */
export function candidateOf(config: ModelConfig, assignment: Assignment = {}, artifact?: Artifact): Candidate {
  return {
    fingerprint: fingerprintOf(config),
    assignment,
    value: {
      models: { [config.name ?? '']: config },
      ...(artifact && { artifact: artifactToJson(artifact) }),
    },
    shape: { ...shapeOf(config), ...(artifact && { preparation: preparationOf(artifact) }) },
  };
}

/**
 * Returns the candidate that a server has before the first change. Its value is the config to the letter, so that applying it needs no load;
 * its fingerprint and shape are those of the same config as a search builds it. `others`: the configs that further models of the study have then;
 * applying the original leaves them as they are. Errors: CONFIG_INVALID for a wrong config.
 */
export function originalOf(config: ModelConfig, others: ModelConfigs = {}): Candidate {
  const { value } = candidateOf(config);
  const isAlone = Object.keys(others).length === 0;
  return { ...candidateOf(withoutServerDefaults(config)), value: isAlone ? value : { ...value, others } };
}

const preparationOf = ({ variant, digest, build }: Artifact): Preparation => ({
  key: digest,
  name: variant,
  seconds: build?.seconds ?? 0,
});

function fingerprintOf(config: ModelConfig): string {
  return createHash('sha256').update(canonicalJson(config)).digest('hex').slice(0, 12);
}

/** Returns what a candidate sets, model by model; none for a candidate of another server than Triton. */
export function modelConfigsOf({ value }: Pick<Candidate, 'value'>): ModelConfigs {
  return isJsonObject(value.models) ? (value.models as ModelConfigs) : {};
}

/** Returns the configs of the models that a study may serve beside that of its original; none for one of a single model. */
export function otherConfigsOf({ value }: Pick<Candidate, 'value'>): ModelConfigs {
  return isJsonObject(value.others) ? (value.others as ModelConfigs) : NO_CONFIGS;
}

/** Returns the config of a candidate's only model, or of its first; the empty one where it has none. */
export const modelConfigOf = (candidate: Pick<Candidate, 'value'>): ModelConfig =>
  Object.values(modelConfigsOf(candidate))[0] ?? NO_CONFIG;

/**
 * Returns the config that a candidate serves this model with, which clients send requests to: of several models that are tuned together `otherwise`
 * where the candidate leaves it alone, of one model that of whatever serves in its place.
 */
export function configOfModel(candidate: Candidate, model: string, otherwise?: ModelConfig): ModelConfig {
  if (!candidate.shape.members) return modelConfigOf(candidate);
  return modelConfigsOf(candidate)[model] ?? otherwise ?? otherConfigsOf(candidate)[model] ?? NO_CONFIG;
}

/** One for all, because bindings are kept by their base configs. */
const NO_CONFIG: ModelConfig = {};
const NO_CONFIGS: ModelConfigs = {};

/** Returns what a candidate sets, as one document for people and scripts: the config of its only model, an engine's settings, else its whole value. */
export function documentOf(candidate: Pick<Candidate, 'value'>): JsonObject {
  const [config, ...others] = Object.values(modelConfigsOf(candidate));
  if (config && others.length === 0) return withoutMark(config);
  const { engineSettings } = candidate.value;
  return isJsonObject(engineSettings) ? engineSettings : candidate.value;
}

/** Returns what the candidate has at a path of its only model's config; undefined for nothing. */
export const fieldOf = (candidate: Candidate, path: ConfigPath): Json | undefined =>
  readPath(modelConfigOf(candidate) as Json, path);

/** Tells whether all that is taken for a model config in the value is one, so that its fields are of the types that readers expect. */
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

/** In a config that is to be normalised null stands for nothing; in one that was, there is none. */
const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value as object).some(holdsNull));
