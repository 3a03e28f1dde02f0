import { formatMessage, TrituneError } from '#base/errors.ts';
import type { Random } from '#base/random.ts';
import { NS_PER_MS, NS_PER_US } from '#base/units.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { StepLaw } from '#queueing/continuous/step-law.ts';
import { createSpread } from '#queueing/service-law.ts';
import type { UploadedFiles } from '../models/uploaded-files.ts';
import type { EmulatorProfile } from '../profile/schema.ts';
import { Answerer } from './answer.ts';
import { changedSettings, type EmulatedEngineSettings, toPolicy, uploadedSettings } from './engine-settings.ts';
import type { LanguageProfile } from './language-schema.ts';

/** A language model with the settings of its load. */
export interface LanguageModel {
  readonly policy: ContinuousPolicy;
  readonly law: StepLaw;
  /** Draws a factor for each step's time. */
  readonly spread: () => number;
  readonly answerer: Answerer;
  /** The maximum number of tokens in a prompt and its answer together. */
  readonly mostTokens: number;
}

/**
 * Returns the profile with these settings for all its engines. Errors: USAGE if it has no engine,
 * or for an invalid value.
 */
export function withEngineSettings(
  profile: EmulatorProfile,
  changes: Partial<EmulatedEngineSettings>,
): EmulatorProfile {
  if (Object.keys(changes).length === 0) return profile;
  if (!profile.models.some(({ language }) => language)) {
    throw new TrituneError(
      'USAGE',
      `profile '${profile.name}' has no language model`,
      'leave out the options for language models, or choose another --profile',
    );
  }
  try {
    const models = profile.models.map((model) => {
      const { language } = model;
      return language
        ? { ...model, language: { ...language, engine: changedSettings(language.engine, changes) } }
        : model;
    });
    return { ...profile, models };
  } catch (error) {
    throw new TrituneError('USAGE', formatMessage(error), "see vLLM's list of engine arguments");
  }
}

/** Returns the step law of a profile. */
export function toStepLaw({ step }: LanguageProfile): StepLaw {
  return {
    baseNs: step.base_ms * NS_PER_MS,
    floorNs: step.floor_ms * NS_PER_MS,
    prefillBaseNs: step.prefill_base_ms * NS_PER_MS,
    perPrefillTokenNs: step.per_prefill_token_us * NS_PER_US,
    perDecodingNs: step.per_sequence_us * NS_PER_US,
    perContextTokenNs: step.per_context_token_ns,
    perPrefillPairNs: step.per_prefill_pair_ns,
    cv: step.cv,
  };
}

/**
 * Returns a profile's language model, with the settings of an uploaded `model.json` as overrides.
 * Throws INVALID_ARGUMENT for settings with which its engine would not start.
 */
export function createLanguageModel(
  profile: LanguageProfile,
  deviceMib: number,
  files: UploadedFiles,
  random: Random,
): LanguageModel {
  const settings = uploadedSettings(profile.engine, files);
  const { model_mib: modelMib, kv_bytes_per_token: kvBytesPerToken } = profile.memory;
  const law = toStepLaw(profile);
  const { mean, std } = profile.answer_tokens;
  return {
    policy: toPolicy(settings, { deviceMib, modelMib, kvBytesPerToken }),
    law,
    spread: createSpread(law.cv, random),
    answerer: new Answerer({ kind: 'log-normal', mean, std }, random),
    mostTokens: settings.max_model_len,
  };
}
