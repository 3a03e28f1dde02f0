import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { SetUp } from '#emulator/profile/result-table.ts';
import { backendNamed } from '#triton/config/backend-names.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { describeSetUp } from './calibrate-tables.ts';

/**
 * Returns the set-ups with all the given `column=value`s. Errors: USAGE for another form;
 * INPUT_INVALID if none is left.
 */
export function selected<T extends Pick<SetUp, 'labels'>>(setUps: readonly T[], names: readonly string[]): T[] {
  const pairs = names.map((text) => {
    const [column, ...rest] = text.split('=');
    if (!column || rest.length === 0)
      throw new TrituneError('USAGE', `'${text}' is not COLUMN=VALUE`, 'write for example --select gpu=t4');
    return [column, rest.join('=')] as const;
  });
  const kept = setUps.filter(({ labels }) => pairs.every(([column, value]) => lookUp(labels, column) === value));
  if (kept.length > 0) return kept;
  const there = setUps.map(describeSetUp).join('; ');
  throw new TrituneError('INPUT_INVALID', `the table has no rows with ${names.join(' and ')}`, `use one of ${there}`);
}

/**
 * Returns the config of a set-up: the given one with the table's instances and backend, and a
 * unique name if there are several. The instances come from the option, else the table, else the
 * config's groups.
 */
export function toConfig(
  base: ModelConfig,
  setUp: SetUp,
  all: readonly SetUp[],
  instancesOption: number | undefined,
): { readonly config: ModelConfig; readonly instances: number } {
  const groups = base.instance_group ?? [{ kind: 'KIND_GPU', gpus: [0] }];
  const inConfig = groups.reduce((sum, { count = 1, gpus = [0] }) => sum + count * Math.max(1, gpus.length), 0);
  const instances = instancesOption ?? setUp.settings.instances ?? inConfig;
  const { backend, platform } = backendNamed(setUp.labels.backend ?? '') ?? {};
  const { default_model_filename: _, ...rest } = base;
  const named = backend !== undefined && base.backend !== backend ? { ...rest, backend, platform } : base;
  const differing = Object.entries(setUp.labels).filter(([column, value]) =>
    all.some(({ labels }) => lookUp(labels, column) !== value),
  );
  const name = [base.name ?? 'model', ...differing.map(([, value]) => value.replace(/[^A-Za-z0-9]+/g, '-'))].join('_');
  const instance_group = instances === inConfig ? groups : [{ ...groups[0], count: instances }];
  return { config: { ...named, name, instance_group }, instances };
}

/**
 * Returns a config with the batching that the table says it was measured with; backend and tensors
 * stand for the model's. Errors: USAGE for a table that does not say it.
 */
export function configOfTable({ labels, settings }: SetUp, name: string): ModelConfig {
  const { maxBatchSize, preferredBatchSizes, queueDelayUs } = settings;
  if (maxBatchSize === null) {
    throw new TrituneError(
      'USAGE',
      `the table does not say how batches were formed for ${describeSetUp({ labels })}`,
      'give the config that it was measured with: --config config.pbtxt',
    );
  }
  const tensor = (tensorName: string) => ({ name: tensorName, data_type: 'TYPE_FP32', dims: [1] });
  return {
    name,
    backend: 'python',
    max_batch_size: maxBatchSize,
    input: [tensor('INPUT0')],
    output: [tensor('OUTPUT0')],
    dynamic_batching: {
      ...(preferredBatchSizes && { preferred_batch_size: [...preferredBatchSizes] }),
      ...(queueDelayUs !== null && { max_queue_delay_microseconds: queueDelayUs }),
    },
  };
}
