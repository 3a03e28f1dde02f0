import type { InferRequest, OutputTensor, RequestParameter, RequestSet, RequestTensor } from '../types.ts';
import { joinedBytes } from './adjacent-samples.ts';
import { MAX_TENSOR_BYTES } from './directory-data.ts';
import { invalidInput, type Sample, type SampleTensor } from './sample.ts';
import { shapeText } from './shapes.ts';

export interface RequestOptions {
  /** Samples per request; 1 if the model does not batch. */
  readonly batch: number;
  /** Samples in the largest request, if several sizes are requested. */
  readonly mostBatch?: number | undefined;
  readonly parameters?: readonly RequestParameter[] | undefined;
  /** The values will be in memory that the server shares. */
  readonly isShared?: boolean | undefined;
}

/**
 * The samples of a stream: its steps, and maybe the first of them again, to fill its last request
 * with.
 */
export interface SampleStream {
  readonly samples: readonly Sample[];
  readonly steps: number;
}

/**
 * Combines consecutive samples of each stream, `batch` per request; fills the last request of a
 * stream with its first samples. `isBatching`: tensors have a batch dimension. Errors:
 * INPUT_INVALID for samples that do not fit into one batch.
 */
export function batchRequests(
  model: string,
  streams: readonly SampleStream[],
  isBatching: boolean,
  { batch, parameters = [] }: RequestOptions,
): RequestSet {
  const common = { model, version: '', batch };
  const byStream = streams.map(({ samples, steps }) =>
    Array.from({ length: Math.ceil(steps / batch) }, (_, index): InferRequest => {
      const taken = Array.from({ length: batch }, (_, i) => samples[(index * batch + i) % samples.length] as Sample);
      const expected = findExpected(taken, isBatching);
      return {
        ...common,
        inputs: joined(taken, isBatching, (sample) => sample.inputs),
        ...(parameters.length > 0 && { parameters }),
        ...(expected && { expected }),
      };
    }),
  );
  return { ...common, requests: byStream.flat(), streamLengths: byStream.map((requests) => requests.length) };
}

/** The samples of a request are answered together. */
function findExpected(samples: readonly Sample[], isBatching: boolean): InferRequest['expected'] {
  const [first, ...others] = samples as [Sample, ...Sample[]];
  const other = others.find(({ expected }) => expected?.length !== first.expected?.length);
  if (other) throw unlike(first, other, 'they do not expect the same replies');
  return first.expected?.map((_, reply) => joined(samples, isBatching, ({ expected }) => expected?.[reply] ?? []));
}

function joined(
  samples: readonly Sample[],
  isBatching: boolean,
  listTensors: (sample: Sample) => readonly SampleTensor[],
): (RequestTensor & OutputTensor)[] {
  const [first, ...others] = samples as [Sample, ...Sample[]];
  for (const other of others) {
    if (listTensors(other).length !== listTensors(first).length)
      throw unlike(first, other, 'they have not the same tensors');
  }
  return listTensors(first).map((tensor, index) => {
    const tensors = samples.map((sample) => {
      const sampleTensor = listTensors(sample)[index] as SampleTensor;
      checkAlike(first, tensor, sample, sampleTensor);
      return sampleTensor;
    });
    return joinedTensor(first, tensors, isBatching);
  });
}

function joinedTensor(first: Sample, tensors: readonly SampleTensor[], isBatching: boolean): RequestTensor {
  const { spec, shape, raw } = tensors[0] as SampleTensor;
  const common = { name: spec.name, datatype: spec.datatype };
  if (!isBatching || spec.isShapeTensor) return { ...common, shape, raw };
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.raw.length, 0);
  if (bytes > MAX_TENSOR_BYTES) {
    throw invalidInput(first.place, `'${spec.name}' is too large for one request`, 'choose a smaller batch');
  }
  const all = tensors.length === 1 ? raw : joinedBytes(tensors.map((tensor) => tensor.raw));
  return { ...common, shape: [tensors.length, ...shape], raw: all };
}

function checkAlike(first: Sample, tensor: SampleTensor, other: Sample, sampleTensor: SampleTensor): void {
  const { name, isShapeTensor } = tensor.spec;
  if (sampleTensor.spec.name !== name) throw unlike(first, other, 'they have not the same tensors');
  if (shapeText(sampleTensor.shape) !== shapeText(tensor.shape)) {
    throw unlike(
      first,
      other,
      `'${name}' is ${shapeText(tensor.shape)} in one and ${shapeText(sampleTensor.shape)} in the other`,
    );
  }
  if (isShapeTensor && Buffer.compare(sampleTensor.raw, tensor.raw) !== 0) {
    throw unlike(first, other, `'${name}' is there once for all samples of a request, but its values differ`);
  }
}

const unlike = (first: Sample, other: Sample, why: string): Error =>
  invalidInput(
    `${first.place} and ${other.place}`,
    `they do not go into one request: ${why}`,
    'make all steps of a stream alike, or choose -b 1',
  );
