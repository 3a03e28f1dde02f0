import { TrituneError } from '#base/errors.ts';
import type { Json } from '#base/json.ts';
import { hasTensorrt } from '#triton/config/accelerators.ts';
import type { InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import { type KnownKnobName, knownKnob } from '../source/known-knobs.ts';
import { requirePath } from '../subject.ts';
import type { FieldWrite } from '../types.ts';
import { applyWrites } from './apply-writes.ts';
import { FieldFault, fieldWrite } from './config-fields.ts';

/**
 * `disabled`: the model has no batch dimension. `static`: batches as clients send them. `dynamic`:
 * the server forms them.
 */
export const batchingNames = ['disabled', 'static', 'dynamic'] as const;
/** `amp` is TensorFlow's automatic mixed precision. */
export const acceleratorNames = ['none', 'tensorrt', 'amp', 'openvino'] as const;

export const warmUpNames = ['max', 'each'] as const;

/** Instances on one kind of device, on each GPU or on one. */
export interface DeviceInstances {
  readonly kind: 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';
  /** null for every GPU of the server, and if there are none. */
  readonly gpu: number | null;
  readonly count: number;
}

/** The versions of a model that are served: these, the latest few, or all. */
export type ServedVersions = readonly number[] | { readonly latest: number } | 'all';

/** The wanted changes of a config; absent fields stay as they are. */
export interface ConfigEdits {
  readonly accelerator?: (typeof acceleratorNames)[number];
  readonly tensorrtPrecision?: string;
  readonly tensorrtWorkspaceBytes?: number;
  /** Which of the model's files is served, by its name in the version's folder. */
  readonly modelFile?: string;
  /** Which of the model's versions are served. */
  readonly versions?: ServedVersions;
  readonly cudaGraphs?: boolean;
  readonly maxBatchSize?: number;
  readonly batching?: (typeof batchingNames)[number];
  readonly preferredBatchSizes?: readonly number[];
  readonly queueDelayUs?: number;
  readonly instances?: readonly DeviceInstances[];
  /** Batches that a load executes: the largest, or one of each power of two up to it. */
  readonly warmUp?: (typeof warmUpNames)[number];
}

/**
 * Returns the config with the edits; everything else in it is kept. Errors: USAGE for edits that
 * contradict each other or the config.
 */
export function editConfig(base: ModelConfig, edits: ConfigEdits): ModelConfig {
  try {
    const written = applyWrites(base, [
      ...batchingWrites(base, edits),
      ...acceleratorWrites(base, edits),
      ...(edits.cudaGraphs === undefined ? [] : [knob('cuda_graphs', edits.cudaGraphs)]),
      ...instanceWrites(base, edits),
      ...(edits.modelFile === undefined ? [] : [knob('plan_file', edits.modelFile)]),
      ...(edits.versions === undefined ? [] : [versionWrite(edits.versions)]),
      ...(edits.warmUp === undefined ? [] : [knob('model_warmup', edits.warmUp)]),
    ]);
    if ('reason' in written) throw wrong(written.reason, 'correct that part of the config');
    return written.config;
  } catch (error) {
    if (error instanceof FieldFault) throw wrong(error.message, 'give a value that the field can hold');
    throw error;
  }
}

function batchingWrites(base: ModelConfig, edits: ConfigEdits): FieldWrite[] {
  const { maxBatchSize, preferredBatchSizes, queueDelayUs } = edits;
  const hasBatcherFields = preferredBatchSizes !== undefined || queueDelayUs !== undefined;
  const batching = edits.batching ?? (hasBatcherFields ? 'dynamic' : undefined);
  if (hasBatcherFields && batching !== 'dynamic') {
    throw wrong(
      `preferred batch sizes and a queue delay need dynamic batching, not ${batching}`,
      'use --batching dynamic',
    );
  }
  if (batching === 'disabled') {
    if ((maxBatchSize ?? 0) > 0)
      throw wrong('--max-batch-size cannot be used with --batching disabled', 'leave out --max-batch-size');
    return [knob('dynamic_batching', false), knob('max_batch_size', 0)];
  }
  if (batching !== undefined && (maxBatchSize ?? base.max_batch_size ?? 0) < 1) {
    throw wrong(
      'the model has no batch dimension: its max_batch_size is 0',
      'add --max-batch-size N if the model has a batch dimension',
    );
  }
  return [
    ...(maxBatchSize === undefined ? [] : [knob('max_batch_size', maxBatchSize)]),
    ...(batching === undefined ? [] : [knob('dynamic_batching', batching === 'dynamic')]),
    ...(preferredBatchSizes === undefined ? [] : [knob('preferred_batch_size', preferredBatchSizes)]),
    ...(queueDelayUs === undefined ? [] : [knob('queue_delay_us', queueDelayUs)]),
  ];
}

const ACCELERATORS = 'optimization.execution_accelerators';
const TENSORRT = `${ACCELERATORS}.gpu_execution_accelerator[name=tensorrt]`;
const AMP = `${ACCELERATORS}.gpu_execution_accelerator[name=auto_mixed_precision]`;
const OPENVINO = `${ACCELERATORS}.cpu_execution_accelerator[name=openvino]`;

/**
 * TensorFlow's mixed precision excludes TensorRT; an existing accelerator keeps its other
 * parameters.
 */
function acceleratorWrites(base: ModelConfig, edits: ConfigEdits): FieldWrite[] {
  const { accelerator, tensorrtPrecision, tensorrtWorkspaceBytes } = edits;
  const wantedParameters = { precision_mode: tensorrtPrecision, max_workspace_size_bytes: tensorrtWorkspaceBytes };
  const parameters = Object.entries(wantedParameters).flatMap(([name, value]) =>
    value === undefined ? [] : [fieldWrite(requirePath(`${TENSORRT}.parameters.${name}`), value).write],
  );
  if (parameters.length > 0 && !usesTensorrt(base, accelerator)) {
    throw wrong('the config has no TensorRT accelerator', 'add --backend-accelerator tensorrt');
  }
  switch (accelerator) {
    case undefined:
      return parameters;
    case 'none':
      return [remove(ACCELERATORS)];
    case 'tensorrt':
      return [remove(AMP), ensure(TENSORRT), ...parameters];
    case 'amp':
      return [remove(TENSORRT), ensure(AMP)];
    case 'openvino':
      return [ensure(OPENVINO)];
  }
}

function versionWrite(versions: ServedVersions): FieldWrite {
  const policy = (): Json => {
    if (versions === 'all') return { all: {} };
    return 'latest' in versions
      ? { latest: { num_versions: versions.latest } }
      : { specific: { versions: [...versions] } };
  };
  return fieldWrite(['version_policy'], policy()).write;
}

function usesTensorrt(base: ModelConfig, accelerator: ConfigEdits['accelerator']): boolean {
  return accelerator === undefined ? hasTensorrt(base) : accelerator === 'tensorrt';
}

/** Exactly the requested groups; one on the same device keeps its other fields. */
function instanceWrites(base: ModelConfig, { instances = [] }: ConfigEdits): FieldWrite[] {
  if (instances.length === 0) return [];
  checkDevices(instances);
  const groups = instances.map(({ kind, gpu, count }): InstanceGroup => {
    const gpus = gpu === null ? undefined : [gpu];
    const kept = base.instance_group?.find((group) => group.kind === kind && same(group.gpus, gpus));
    return { ...kept, kind, count, ...(gpus && { gpus }) };
  });
  return [fieldWrite(['instance_group'], groups as Json).write];
}

const same = (a: readonly number[] = [], b: readonly number[] = []): boolean => a.join() === b.join();

function checkDevices(instances: readonly DeviceInstances[]): void {
  const names = instances.map(({ kind, gpu }) => `${kind}${gpu === null ? '' : ` ${gpu}`}`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw wrong(`instances of ${twice} are given twice`, 'give each device once');
  if (names.includes('KIND_GPU') && instances.some(({ gpu }) => gpu !== null)) {
    throw wrong('gpu=N already places instances on every GPU', 'give gpu=N, or a number for each GPU, but not both');
  }
}

function knob(name: KnownKnobName, value: Json): FieldWrite {
  const { path: text, relative } = knownKnob(name) as NonNullable<ReturnType<typeof knownKnob>>;
  const path = requirePath(text);
  const followed = relative?.(value);
  return followed ? { action: 'fit', path, value: followed } : fieldWrite(path, value).write;
}
const remove = (path: string): FieldWrite => ({ action: 'remove', path: requirePath(path) });
const ensure = (path: string): FieldWrite => ({ action: 'ensure', path: requirePath(path) });
const wrong = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
