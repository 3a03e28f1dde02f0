import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import type { ModelMetadata, TensorMetadata } from '#triton/types.ts';

/** One input or output of a model. */
export interface TensorSpec {
  readonly name: string;
  /** KServe name. */
  readonly datatype: string;
  /** Shape of one sample, without the batch dimension; -1 is any size. */
  readonly dims: readonly number[];
  /**
   * Shape tensors carry one shape for the whole batch, so they have no batch dimension even when
   * the model batches.
   */
  readonly isShapeTensor: boolean;
  readonly isOptional: boolean;
}

/** The inputs and outputs of a model. */
export interface ModelTensors {
  readonly model: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** Returns the tensors of a model. Both arguments must describe the same state of the model. */
export function modelTensors(metadata: ModelMetadata, config: ModelConfig): ModelTensors {
  const isBatching = (config.max_batch_size ?? 0) > 0;
  return {
    model: metadata.name,
    inputs: metadata.inputs.map((tensor) => toSpec(tensor, config.input, isBatching)),
    outputs: metadata.outputs.map((tensor) => toSpec(tensor, config.output, isBatching)),
  };
}

function toSpec(
  { name, datatype, shape }: TensorMetadata,
  described: readonly TensorConfig[] | undefined,
  isBatching: boolean,
): TensorSpec {
  const config = described?.find((candidate) => candidate.name === name);
  const isShapeTensor = config?.is_shape_tensor === true;
  // Servers differ in whether a shape tensor's shape has the batch dimension in front.
  const isBatched = isBatching && !(isShapeTensor && shape.length === config.dims?.length);
  const dims = isBatched ? shape.slice(1) : shape;
  return { name, datatype, dims, isShapeTensor, isOptional: config?.optional === true };
}
