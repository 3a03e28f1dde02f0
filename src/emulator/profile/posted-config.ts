import { isTrituneError, TrituneError } from '#base/errors.ts';
import { type Json, nestsDeeperThan } from '#base/json.ts';
import { backendOfPlatform } from '#triton/config/backend-names.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { type MessageSchema, modelConfigSchema, type ValueSchema } from '#triton/config/schema.ts';
import { maxDepth } from '#triton/config/unknown.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { notPolled, ProtocolFailure } from '../wire/protocol-failure.ts';

/**
 * Returns the config with the values that Triton fills in before it compares or shows one: the
 * version policy, an instance group, the preferred batch size of a dynamic batcher, pinned memory.
 */
function withTritonDefaults(config: ModelConfig, model: string): ModelConfig {
  const version_policy = config.version_policy ?? { latest: { num_versions: 1 } };
  // An ensemble has no instances and nothing to pin.
  if (config.ensemble_scheduling) return { ...config, name: model, platform: 'ensemble', version_policy };
  const max = config.max_batch_size ?? 0;
  const batching = config.dynamic_batching;
  const preferred = batching?.preferred_batch_size?.length || max === 0 ? undefined : [max];
  const pinned = { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } };
  return {
    ...config,
    name: model,
    version_policy,
    optimization: { ...pinned, ...config.optimization },
    instance_group: (config.instance_group ?? [{}]).map((group, index) => ({
      ...group,
      name: group.name || `${model}_${index}`,
      count: Math.max(1, group.count ?? 1),
    })),
    ...(batching && { dynamic_batching: { ...batching, ...(preferred && { preferred_batch_size: preferred }) } }),
  };
}

/** The model for which a posted config is read. */
export interface PostedFor {
  readonly name: string;
  /** The model's own config: the emulator only has a law for its backend. */
  readonly stored: ModelConfig;
}

/**
 * Reads the config of a load call like Triton: protobuf JSON without unknown fields, then the rules
 * of a model config, then defaults. Throws INTERNAL with the one generic text for all of these,
 * INVALID_ARGUMENT for a backend that the emulator lacks.
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
 * The placement of instances is checked when they are made, and a warm-up when it runs, with their
 * own messages; a count below 1 counts as 1.
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

/**
 * False if a field or an enum value does not exist in ModelConfig; protobuf's JSON reader refuses
 * such input.
 */
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

/**
 * Returns a profile's own config, with a backend and Triton's defaults. Errors: CONFIG_INVALID.
 */
export function readStoredConfig(json: unknown): ModelConfig {
  const config = normaliseConfig(json);
  const [fault] = validateConfig(config);
  if (fault) throw new TrituneError('CONFIG_INVALID', `${fault.path} ${fault.reason}`, 'correct the model config');
  return withTritonDefaults(withBackend(config), config.name ?? '');
}

function withBackend(config: ModelConfig): ModelConfig {
  if (config.backend || config.ensemble_scheduling) return config;
  return { ...config, backend: backendOfPlatform.get(config.platform ?? '') ?? 'emulator' };
}
