import { createHash } from 'node:crypto';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type Artifact, formatMark, MARK } from './artifact.ts';
import { type EngineSettings, splitSettings, withoutDefaults } from './engine.ts';
import { toCandidate } from './model-configs.ts';
import { plainShape } from './shape.ts';
import type { Assignment, Candidate, CandidateShape, EngineTraits } from './types.ts';

/** The file from which Triton's vLLM backend, and others like it, read the engine's settings. */
const SETTINGS_FILE = 'model.json';

/** Returns the settings of a candidate's engine; undefined if it has none. */
export const readSettings = ({ value }: Pick<Candidate, 'value'>): EngineSettings | undefined =>
  isJsonObject(value.engineSettings) ? (value.engineSettings as EngineSettings) : undefined;

/** Returns settings in readable form: each by its name alone. */
export const namedSettings = ({ engine, config_file, environment }: EngineSettings): JsonObject => ({
  ...engine,
  ...config_file,
  ...environment,
});

/** Returns the candidate that an engine is started with: its settings. */
export function launchedCandidate(settings: EngineSettings, assignment: Assignment = {}): Candidate {
  return {
    fingerprint: computeDigest(settings).slice(0, 12),
    assignment,
    value: { engineSettings: settings as JsonObject },
    shape: plainShape(namedSettings(settings)),
  };
}

/**
 * Returns the candidate of a model config and settings, over a base of the same kind. An engine in
 * Triton reads its settings from a file of the model, which is part of the load call like a
 * variant's files; with the base's settings nothing is uploaded. Settings that the engine has
 * anyway are left out: the candidate is then the original.
 */
export function engineCandidate(
  base: ModelConfig,
  built: ModelConfig,
  assignment: Assignment,
  artifact: Artifact | undefined,
  traits: EngineTraits,
): Candidate {
  const { settings: engineSettings } = splitSettings(base);
  const { config, settings: said } = splitSettings(built);
  const settings = withoutDefaults(said, engineSettings, traits);
  if (config.backend === undefined && config.platform === undefined) return launchedCandidate(settings, assignment);
  const isAsServed = canonicalJson(settings as Json) === canonicalJson(engineSettings as Json);
  const uploaded = isAsServed ? artifact : withSettingsFile(artifact, settings);
  const marked = isAsServed || !uploaded ? config : withMark(config, uploaded);
  const candidate = toCandidate(marked, assignment, uploaded);
  return {
    ...candidate,
    value: { ...candidate.value, engineSettings: settings as JsonObject },
    shape: withNamed(candidate.shape, settings),
  };
}

/** Returns a Triton model's original with its engine's settings. */
export const withEngineSettings = (original: Candidate, settings: EngineSettings): Candidate => ({
  ...original,
  value: { ...original.value, engineSettings: settings as JsonObject },
  shape: withNamed(original.shape, settings),
});

/** Each setting may change the duration of requests; the file that holds it does not matter. */
function withNamed(shape: CandidateShape, settings: EngineSettings): CandidateShape {
  const { [`.parameters.${MARK}.string_value`]: _, ...others } = shape.settings;
  const named = plainShape(namedSettings(settings));
  return { ...shape, rest: `${shape.rest} ${named.rest}`, settings: { ...others, ...named.settings } };
}

function withSettingsFile(artifact: Artifact | undefined, { engine = {} }: EngineSettings): Artifact {
  const text = `${JSON.stringify(engine, null, 2)}\n`;
  const sha256 = createHash('sha256').update(text).digest('hex');
  const files = artifact?.files ?? {};
  const place = Object.keys(files).find((each) => each.endsWith(`/${SETTINGS_FILE}`)) ?? `1/${SETTINGS_FILE}`;
  return {
    ...artifact,
    variant: artifact?.variant ?? 'engine',
    digest: computeDigest([artifact?.digest ?? null, sha256]),
    files: { ...files, [place]: { path: '', sha256, bytes: Buffer.byteLength(text), text } },
  };
}

/** Other files require another config (`MARK`). */
const withMark = (config: ModelConfig, artifact: Artifact): ModelConfig => ({
  ...config,
  parameters: { ...config.parameters, [MARK]: { string_value: formatMark(artifact) } },
});

const computeDigest = (value: unknown): string =>
  createHash('sha256')
    .update(canonicalJson(value as Json))
    .digest('hex');
