import { TrituneError } from '#base/errors.ts';
import { isIterative } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelMetadata } from '#triton/types.ts';
import { OTHERS } from '#workload/request-spec.ts';
import { adjacentSamples } from './input-data/adjacent-samples.ts';
import { batchRequests, type RequestOptions, type SampleStream } from './input-data/batch-requests.ts';
import {
  type AssumedInput,
  type GeneratedStream,
  type GeneratedValues,
  generatedStream,
} from './input-data/generated-stream.ts';
import { readStreams } from './input-data/read-streams.ts';
import { formatNames, type Sample, type StatedShapes } from './input-data/sample.ts';
import { type ModelTensors, modelTensors } from './input-data/tensor-spec.ts';
import type { RequestSet } from './types.ts';

interface CommonOptions extends RequestOptions {
  /**
   * By input name, without the batch dimension: for inputs with dimensions of any size, and for
   * optional inputs.
   */
  readonly shapes?: StatedShapes | undefined;
}

export interface InputOptions extends CommonOptions, GeneratedValues {}

export interface SuppliedInputOptions extends CommonOptions {
  /** JSON data files, and directories with a file for each input. */
  readonly paths: readonly string[];
}

export interface PreparedInputs extends RequestSet, Pick<GeneratedStream, 'unsized'> {
  /** Choices that were made for the user. */
  readonly assumed: readonly AssumedInput[];
  /** Samples in the largest of these requests, whatever their config. */
  readonly mostBatch: number;
  /**
   * Pieces of memory: the values of each request's inputs are part of one. Empty unless they will
   * be in shared memory.
   */
  readonly values: readonly Uint8Array[];
  /**
   * Returns the same requests for another config of the model, for the model of that name, or with
   * another batch. Errors: INPUT_INVALID if it does not take the batch.
   */
  forConfig(config: ModelConfig, batch?: number): RequestSet;
}

/**
 * Returns one request with generated values for every input that the model needs. Errors:
 * INPUT_INVALID (a batch or shape that the model cannot take, or more bytes than `maxBytes`),
 * UNSUPPORTED (an unknown data type).
 */
export function prepareInputs(metadata: ModelMetadata, config: ModelConfig, options: InputOptions): PreparedInputs {
  const tensors = modelTensors(metadata, config);
  checkBatch(metadata.name, config, options.batch);
  const shapes = checkedNames(tensors, options.shapes ?? {});
  checkNames(
    tensors,
    [...(options.integersByInput?.keys() ?? [])].filter((name) => name !== OTHERS),
  );
  const mostBatch = findMaxBatch(options);
  const { samples: generated, assumed, unsized } = generatedStream(tensors, mostBatch, shapes, options);
  const { samples, values } = options.isShared ? adjacentSamples(generated, mostBatch) : apart(generated);
  // One request holds everything that was generated for it.
  const groupStreams = (batch: number) => [{ samples, steps: batch }];
  return prepared(tensors.model, { groupStreams, values, assumed, unsized }, config, options);
}

/**
 * Returns requests with the values of files and directories. Errors: INPUT_INVALID, UNSUPPORTED (an
 * unknown data type).
 */
export async function readInputs(
  metadata: ModelMetadata,
  config: ModelConfig,
  options: SuppliedInputOptions,
): Promise<PreparedInputs> {
  const tensors = modelTensors(metadata, config);
  checkBatch(metadata.name, config, options.batch);
  const read = await readStreams(options.paths, tensors, checkedNames(tensors, options.shapes ?? {}));
  // The last request of a stream may begin with its last step.
  const more = findMaxBatch(options) - 1;
  const streams = read.map((samples) => ({
    ...(options.isShared ? adjacentSamples(samples, samples.length + more) : apart(samples)),
    steps: samples.length,
  }));
  const values = streams.flatMap((stream) => stream.values);
  return prepared(tensors.model, { groupStreams: () => streams, values, assumed: [], unsized: [] }, config, options);
}

const findMaxBatch = ({ batch, mostBatch = batch }: RequestOptions): number => mostBatch;

/** Samples that nothing shares. */
const apart = (samples: readonly Sample[]) => ({ samples, values: [] });

interface Prepared extends Pick<PreparedInputs, 'values' | 'assumed' | 'unsized'> {
  readonly groupStreams: (batch: number) => readonly SampleStream[];
}

function prepared(
  model: string,
  { groupStreams, values, assumed, unsized }: Prepared,
  config: ModelConfig,
  options: RequestOptions,
): PreparedInputs {
  // Candidates of other batch sizes take the same requests; the requests differ only without
  // batching.
  const sets = new Map<string, RequestSet>();
  const forConfig = (candidate: ModelConfig, batch = options.batch): RequestSet => {
    const name = candidate.name || model;
    checkBatch(name, candidate, batch);
    const isBatching = (candidate.max_batch_size ?? 0) > 0;
    const key = `${isBatching} ${batch} ${name}`;
    const set = sets.get(key) ?? {
      ...batchRequests(name, groupStreams(batch), isBatching, { ...options, batch }),
      ...(isIterative(candidate) && { isRescheduled: true }),
    };
    sets.set(key, set);
    return set;
  };
  return { ...forConfig(config), assumed, unsized, mostBatch: findMaxBatch(options), values, forConfig };
}

function checkBatch(model: string, config: ModelConfig, batch: number): void {
  const maxBatchSize = config.max_batch_size ?? 0;
  if (Number.isInteger(batch) && batch >= 1 && batch <= Math.max(maxBatchSize, 1)) return;
  throw invalid(
    maxBatchSize > 0
      ? `a batch of ${batch} is larger than the max_batch_size of '${model}', which is ${maxBatchSize}`
      : `'${model}' does not batch, so a batch of ${batch} cannot be sent`,
    `give --batch a whole number from 1 to ${Math.max(maxBatchSize, 1)}`,
  );
}

function checkedNames(tensors: ModelTensors, shapes: StatedShapes): StatedShapes {
  checkNames(tensors, Object.keys(shapes));
  return shapes;
}

function checkNames({ model, inputs }: ModelTensors, names: readonly string[]): void {
  const unknown = names.find((name) => !inputs.some((input) => input.name === name));
  if (unknown !== undefined)
    throw invalid(`'${model}' has no input '${unknown}'`, `its inputs are ${formatNames(inputs)}`);
}

const invalid = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
