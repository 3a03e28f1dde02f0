import { invalidInput, type Sample } from './sample.ts';

/** Samples whose values lie in a few pieces of memory, such as a server can share. */
export interface AdjacentSamples {
  readonly samples: readonly Sample[];
  /**
   * One piece for each input, with its values in the order of the samples. Nothing else is in their
   * buffers.
   */
  readonly values: readonly Uint8Array[];
}

/**
 * Returns `count` samples of a stream, repeated from its first one on, with the values of each
 * input one after another in memory: those of any consecutive samples are one part of it. Errors:
 * INPUT_INVALID for more than fits into memory.
 */
export function adjacentSamples(stream: readonly Sample[], count: number): AdjacentSamples {
  const all = Array.from({ length: count }, (_, index) => stream[index % stream.length] as Sample);
  const byteSizes = new Map<string, number>();
  for (const { spec, raw } of all.flatMap(({ inputs }) => inputs))
    byteSizes.set(spec.name, (byteSizes.get(spec.name) ?? 0) + raw.byteLength);
  const values = new Map([...byteSizes].map(([name, byteSize]) => [name, viewMemory(byteSize, all[0] as Sample)]));
  const ends = new Map<string, number>();
  const moved = (name: string, raw: Uint8Array): Uint8Array => {
    const start = ends.get(name) ?? 0;
    ends.set(name, start + raw.byteLength);
    const place = (values.get(name) as Uint8Array).subarray(start, start + raw.byteLength);
    place.set(raw);
    return place;
  };
  const samples = all.map((sample) => ({
    ...sample,
    inputs: sample.inputs.map((tensor) => ({ ...tensor, raw: moved(tensor.spec.name, tensor.raw) })),
  }));
  return { samples, values: [...values.values()] };
}

function viewMemory(byteSize: number, { place }: Sample): Uint8Array {
  try {
    return new Uint8Array(byteSize);
  } catch {
    throw invalidInput(place, `its values take ${byteSize} bytes`, 'use fewer samples, or a smaller --batch-size');
  }
}

/** Returns these values as one: the memory that they lie in one after another, or else a copy. */
export function joinedBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts as readonly [Uint8Array, ...Uint8Array[]];
  let end = first.byteOffset;
  for (const { buffer, byteOffset, byteLength } of parts) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(parts);
    end += byteLength;
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset);
}
