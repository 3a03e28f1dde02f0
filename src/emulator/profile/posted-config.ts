import { isTrituneError, TrituneError } from '../../base/errors.ts';
import { type Json, nestsDeeperThan } from '../../base/json.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { normaliseConfig } from '../../triton/config/normal-form.ts';
import { type MessageSchema, modelConfigSchema, type ValueSchema } from '../../triton/config/schema.ts';
import { maxDepth } from '../../triton/config/unknown.ts';
import { validateConfig } from '../../triton/config/validation.ts';
import { notPolled, ProtocolFailure } from '../wire/protocol-failure.ts';
import { withTritonDefaults } from './triton-defaults.ts';

/** What a posted config is read for. */
export interface PostedFor {
  readonly name: string;
  /** The model's own config: its backend is the only one that the emulator has a law for. */
  readonly stored: ModelConfig;
}

/**
 * The config of a load call, read as Triton reads one: protobuf JSON without unknown fields, then the rules of a model
 * config, then defaults. Throws INTERNAL with the one generic text for all of that, INVALID_ARGUMENT for a backend that
 * the emulator does not have.
 */
export function readPostedConfig(model: PostedFor, configJson: string): ModelConfig {
  const posted = parse(model.name, configJson);
  if ((posted.name ?? model.name) !== model.name) throw notPolled(model.name);
  const { backend, platform } = model.stored;
  const names = posted.backend !== undefined || posted.platform !== undefined;
  const config = names ? posted : { ...posted, ...(backend && { backend }), ...(platform && { platform }) };
  const known = config.backend === undefined || config.backend === backend;
  if (!known || (config.platform !== undefined && config.platform !== platform)) {
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      `load failed for model '${model.name}': version 1 is at UNAVAILABLE state: Invalid argument: unable to find ` +
        `backend library for backend '${config.backend ?? config.platform}' (the emulator has only '${backend}');\n`,
    );
  }
  if (validateConfig(config).some(({ path }) => !toldLater.test(path))) throw notPolled(model.name);
  return withTritonDefaults(config, model.name);
}

/**
 * Where instances may stand is checked when they are made, and a warm-up when it runs, with words of their own; a count below 1 is
 * taken as 1.
 */
const toldLater = /^(instance_group\[\d+\]\.(kind|gpus|count)|model_warmup)/;

function parse(model: string, configJson: string): ModelConfig {
  try {
    const json: unknown = JSON.parse(configJson);
    if (nestsDeeperThan(maxDepth, json)) throw notPolled(model);
    const config = normaliseConfig(json);
    if (isKnown(modelConfigSchema(), config)) return config;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isTrituneError(error, 'CONFIG_INVALID')) throw error;
  }
  throw notPolled(model);
}

/** False when a field or an enum's value is none that ModelConfig has; protobuf's JSON reader takes no such thing. */
function isKnown(schema: MessageSchema, message: { readonly [field: string]: Json | undefined }): boolean {
  return Object.entries(message).every(([name, value]) => {
    const field = schema.field(name);
    if (!field || value === undefined) return value === undefined;
    if (field.shape === 'single') return isKnownValue(field.value, value);
    return Object.values(value as object).every((item: Json) => isKnownValue(field.value, item));
  });
}

function isKnownValue(schema: ValueSchema, value: Json): boolean {
  if (schema.type === 'enum') return schema.numbers.has(String(value));
  return schema.type === 'scalar' || isKnown(schema.message, value as { readonly [field: string]: Json });
}

/** Returns a profile's own config, with Triton's defaults. Errors: CONFIG_INVALID. */
export function readStoredConfig(json: unknown): ModelConfig {
  const config = normaliseConfig(json);
  const [fault] = validateConfig(config);
  if (fault) throw new TrituneError('CONFIG_INVALID', `${fault.path} ${fault.reason}`, 'correct the model config');
  return withTritonDefaults(config, config.name ?? '');
}
