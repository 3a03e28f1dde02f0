import { invalidInput } from './sample.ts';
import type { TensorSpec } from './tensor-spec.ts';

/** Clues about a tensor's shape beyond the model's own dimensions. */
export interface ShapeClues {
  readonly count: number;
  /** Given with the tensor, or for all tensors of its name. */
  readonly stated?: readonly number[] | undefined;
  /** Nesting of its values, if regular. */
  readonly nesting?: readonly number[] | undefined;
}

export const countElements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

export const shapeText = (shape: readonly number[]): string => `[${shape.join(', ')}]`;

/** True if the dimensions allow the shape. */
export function fits(dims: readonly number[], shape: readonly number[]): boolean {
  return (
    shape.length === dims.length &&
    shape.every((size, index) => Number.isSafeInteger(size) && size >= 0 && [-1, size].includes(dims[index] as number))
  );
}

/** Returns the given shape. Errors: INPUT_INVALID if the input does not take it. */
export function checkedShape(place: string, spec: TensorSpec, shape: readonly number[]): readonly number[] {
  if (fits(spec.dims, shape)) return shape;
  throw invalidInput(
    place,
    `shape ${shapeText(shape)} does not fit '${spec.name}', which takes ${shapeText(spec.dims)}`,
    'give the shape without the batch dimension; -1 stands for any size',
  );
}

/**
 * Returns the shape of this number of values. Errors: INPUT_INVALID if they do not fill it, or if
 * it is ambiguous.
 */
export function shapeOfValues(place: string, spec: TensorSpec, clues: ShapeClues): readonly number[] {
  const shape = clues.stated ? checkedShape(place, spec, clues.stated) : shapeFromClues(spec.dims, clues);
  if (shape === null) {
    throw invalidInput(
      place,
      `the shape of ${clues.count} values for ${shapeText(spec.dims)} is ambiguous`,
      'give the shape: {"content": […], "shape": […]}, or --shape NAME:D1,D2',
    );
  }
  const elements = countElements(shape);
  if (elements === clues.count) return shape;
  throw invalidInput(
    place,
    `${clues.count} values where ${spec.datatype} ${shapeText(shape)} takes ${elements}`,
    'give all values of one sample, without a batch dimension',
  );
}

function shapeFromClues(dims: readonly number[], { count, nesting }: ShapeClues): readonly number[] | null {
  const open = dims.filter((dim) => dim === -1).length;
  if (open === 0) return dims;
  if (nesting && fits(dims, nesting)) return nesting;
  const others = countElements(dims.filter((dim) => dim !== -1));
  if (open > 1 || others === 0 || count % others !== 0) return null;
  return dims.map((dim) => (dim === -1 ? count / others : dim));
}
