import { isTrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { configParameters, type SpaceParameters } from './config-parameters.ts';
import { invalid, type ReadFile } from './read-file.ts';
import type { ModelSettings } from './schema.ts';

/** The ends of Model Analyzer's automatic search. */
const DEFAULTS = { instances: [1, 5], batches: [1, 128] } as const;
const MAX_COUNTS = 1000;

/**
 * Returns the search space of a model in our format: every combination of the values in
 * `model_config_parameters`; without any, the automatic one of instances and doubling batch sizes;
 * or only the unchanged model if the search is disabled. Errors: INPUT_INVALID with the path of the
 * key.
 */
export function searchSpace(
  read: ReadFile,
  name: string,
  settings: ModelSettings,
  batch: number,
  under = 'profile_models',
): JsonObject {
  const { file } = read;
  const path = [under, name, 'model_config_parameters'];
  const model_config_parameters = settings.model_config_parameters;
  const parameters = model_config_parameters
    ? beside(configParameters(model_config_parameters, file, path), read)
    : automatic(read);
  const placesInstances = Object.keys(parameters).some(
    (key) => key.startsWith('instance_group') || key === 'instance_kind',
  );
  const space = {
    name: 'model-analyzer',
    description: `what ${file} asks for`,
    parameters: {
      ...(settings.cpu_only === true && !placesInstances && { instance_kind: ['KIND_CPU'] }),
      ...parameters,
    },
    rules: batch > 1 ? [batchFits(batch)] : [],
  };
  try {
    return spaceFromJson(space).definition;
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID'))
      throw invalid(file, path, error.message.replace(/^.*?parameters\./, ''));
    throw error;
  }
}

/**
 * Model Analyzer's quick and optuna searches vary instances and batch sizes in addition to the
 * listed values; the brute one does not.
 */
function beside(listed: SpaceParameters, read: ReadFile): SpaceParameters {
  if ((read.content.run_config_search_mode ?? 'brute') === 'brute') return listed;
  const { instances, ...others } = automatic(read);
  const placed = Object.keys(listed).some((name) => name === 'instances' || name.startsWith('instance_group'));
  return { ...(instances && !placed && { instances }), ...others, ...listed };
}

function automatic({ file, content }: ReadFile): SpaceParameters {
  if (content.run_config_search_disable) return {};
  const {
    run_config_search_min_instance_count: fewest = DEFAULTS.instances[0],
    run_config_search_max_instance_count: most = DEFAULTS.instances[1],
    run_config_search_min_model_batch_size: smallest = DEFAULTS.batches[0],
    run_config_search_max_model_batch_size: largest = DEFAULTS.batches[1],
  } = content;
  if (fewest > most)
    throw invalid(file, ['run_config_search_max_instance_count'], `${most} is below the least, ${fewest}`);
  if (most - fewest >= MAX_COUNTS) {
    throw invalid(file, ['run_config_search_max_instance_count'], `more than ${MAX_COUNTS} instance counts to try`);
  }
  if (smallest > largest) {
    throw invalid(file, ['run_config_search_max_model_batch_size'], `${largest} is below the least, ${smallest}`);
  }
  return {
    instances: Array.from({ length: most - fewest + 1 }, (_, index) => fewest + index),
    max_batch_size: doublings(smallest, largest),
    dynamic_batching: [true],
  };
}

/** Follows Model Analyzer: from the low end, doubling each time, up to the high end. */
function doublings(low: number, high: number): readonly number[] {
  const values = [low];
  while (2 * (values.at(-1) as number) <= high) values.push(2 * (values.at(-1) as number));
  return values;
}

/** Requests larger than the model's batches would be refused. */
const batchFits = (batch: number): JsonObject => ({
  name: 'client-batch-fits',
  when: { 'base.max_batch_size': { at_least: batch } },
  require: `config.max_batch_size >= ${batch}`,
  message: `a request of ${batch} samples is larger than max_batch_size`,
});
