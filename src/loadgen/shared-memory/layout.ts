import type { ModelConfig } from '#triton/config/model-config.ts';
import { numericType } from '../input-data/data-types.ts';

/** Tensors begin at multiples of a cache line, which is suitable for every data type. */
const ALIGNMENT = 64;

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Returns the offset of each piece of values, and their total bytes. */
export function layoutOfInputs(values: readonly Uint8Array[]): {
  readonly offsets: ReadonlyMap<Uint8Array, number>;
  readonly byteSize: number;
} {
  const offsets = new Map<Uint8Array, number>();
  let byteSize = 0;
  for (const piece of values) {
    offsets.set(piece, byteSize);
    byteSize += aligned(piece.byteLength);
  }
  return { offsets, byteSize };
}

/** One output of a request in the slot that the request holds. */
export interface SlotOutput {
  readonly name: string;
  /** Offset in the slot. */
  readonly offset: number;
  readonly byteSize: number;
}

/**
 * Returns the layout of the outputs of one request with `batch` samples. Outputs of unknown size
 * (BYTES, and those with dimensions of any size) get `unknownBytes`.
 */
export function layoutOfOutputs(
  { output = [], max_batch_size = 0 }: ModelConfig,
  batch: number,
  unknownBytes: number,
): { readonly outputs: readonly SlotOutput[]; readonly slotBytes: number } {
  let slotBytes = 0;
  const outputs = output.map(({ name, data_type, dims }) => {
    const datatype = data_type === 'TYPE_STRING' ? 'BYTES' : String(data_type).replace(/^TYPE_/, '');
    const element = numericType(datatype)?.bytes;
    const count = dims.reduce<number>((product, size) => product * Number(size), max_batch_size > 0 ? batch : 1);
    const isKnown = element !== undefined && dims.every((size) => Number(size) >= 0);
    const place = { name, offset: slotBytes, byteSize: isKnown ? Math.max(1, count * element) : unknownBytes };
    slotBytes += aligned(place.byteSize);
    return place;
  });
  return { outputs, slotBytes };
}
