import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import type { TensorMetadata } from '#triton/types.ts';

const bytesPerElement: Record<string, number> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BF16: 2,
};

/** Returns the bytes of one element; null if it varies (BYTES). */
export function elementBytes(datatype: string): number | null {
  return bytesPerElement[datatype] ?? null;
}

/** Returns the KServe name of a config's data type: TYPE_FP32 → FP32, TYPE_STRING → BYTES. */
export function kserveDatatype(dataType: string): string {
  const name = dataType.replace(/^TYPE_/, '');
  return name === 'STRING' ? 'BYTES' : name;
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/**
 * Returns a model's tensors as in its metadata: with a batch dimension of any size if the model
 * batches.
 */
export function tensorMetadata(config: ModelConfig, tensors: readonly TensorConfig[] | undefined): TensorMetadata[] {
  const batchDim = (config.max_batch_size ?? 0) > 0 ? [-1] : [];
  return (tensors ?? []).map((tensor) => ({
    name: tensor.name,
    datatype: kserveDatatype(String(tensor.data_type)),
    shape: [...batchDim, ...tensor.dims.map(Number)],
  }));
}

/**
 * Returns the size in bytes of a zero tensor in the wire's raw form; a BYTES element is an empty
 * string with four bytes of length.
 */
export function tensorBytes({
  datatype,
  shape,
}: {
  readonly datatype: string;
  readonly shape: readonly number[];
}): number {
  return elementCount(shape) * (elementBytes(datatype) ?? 4);
}

export function zeroTensor(datatype: string, shape: readonly number[]): Buffer {
  return Buffer.alloc(tensorBytes({ datatype, shape }));
}
