import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { TensorSpec } from './tensor-spec.ts';

/** One tensor of one sample: without the batch dimension, in KServe v2's raw form. */
export interface SampleTensor {
  readonly spec: TensorSpec;
  readonly shape: readonly number[];
  readonly raw: Uint8Array;
}

/**
 * One step of a stream: the inputs of one sample, and the expected outputs of each reply to them;
 * absent if nothing is expected.
 */
export interface Sample {
  /** Its origin, for messages. */
  readonly place: string;
  readonly inputs: readonly SampleTensor[];
  readonly expected?: readonly (readonly SampleTensor[])[];
}

/** Input shapes that the user gave, by input name, without the batch dimension. */
export type StatedShapes = Readonly<Record<string, readonly number[]>>;

/**
 * Returns the shape given for an input. Names come from the server, so one may match a property of
 * every object.
 */
export const findStatedShape = (shapes: StatedShapes, name: string): readonly number[] | undefined =>
  lookUp(shapes, name);

/** Returns an INPUT_INVALID error about one place of the input data. */
export const invalidInput = (place: string, message: string, hint: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `${place}: ${message}`, hint);

/** Returns the names of tensors as a message lists them. */
export const formatNames = (specs: readonly TensorSpec[]): string => listed(specs.map((spec) => spec.name)) || 'none';
