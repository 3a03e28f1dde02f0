import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { formatMessage } from '#base/errors.ts';
import { readBytes } from '#base/read-file.ts';
import { countOfRaw } from './json-tensor.ts';
import { isNpy, readNpy } from './npy-file.ts';
import {
  findStatedShape,
  formatNames,
  invalidInput,
  type Sample,
  type SampleTensor,
  type StatedShapes,
} from './sample.ts';
import { countElements, shapeOfValues } from './shapes.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';
import { encodeTexts } from './text-elements.ts';

/** A tensor travels in one message, and a gRPC message length has 31 bits. */
export const MAX_TENSOR_BYTES = 2 ** 31 - 1;

/**
 * Returns one sample from a directory with one file per input, named after the input: its raw
 * bytes, little-endian, or an array of NumPy's (also as `NAME.npy`). Of BYTES a file is one value,
 * as it is, without the line break at the end of a single line; if the shape has several values,
 * each is a line. A file named after an output holds its expected values. Skips hidden files.
 * Errors: INPUT_INVALID with the file.
 */
export async function directorySample(directory: string, tensors: ModelTensors, shapes: StatedShapes): Promise<Sample> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.')).sort();
  const known = [...tensors.inputs, ...tensors.outputs];
  const fileOf = new Map(names.map((name) => [name.replace(NPY_ENDING, ''), name] as const));
  const stray = names.find((name) => !known.some((spec) => spec.name === name.replace(NPY_ENDING, '')));
  if (stray !== undefined) {
    throw invalidInput(join(directory, stray), 'the model has no such tensor', `it has ${formatNames(known)}`);
  }
  const twice = names.find((name) => fileOf.get(name.replace(NPY_ENDING, '')) !== name);
  if (twice !== undefined) {
    throw invalidInput(join(directory, twice), `there is '${twice}${NPY}' as well`, 'leave one of them there');
  }
  const missing = tensors.inputs.find((spec) => !spec.isOptional && !fileOf.has(spec.name));
  if (missing) {
    throw invalidInput(
      directory,
      `there is no file '${missing.name}'`,
      `the model takes ${formatNames(tensors.inputs)}`,
    );
  }
  const read = (specs: readonly TensorSpec[], shapes: StatedShapes): Promise<SampleTensor[]> =>
    Promise.all(
      specs.flatMap((spec) => {
        const name = fileOf.get(spec.name);
        return name === undefined ? [] : [readTensor(join(directory, name), spec, findStatedShape(shapes, spec.name))];
      }),
    );
  const isInput = (name: string): boolean => tensors.inputs.some((spec) => spec.name === name);
  const outputs = tensors.outputs.filter((spec) => !isInput(spec.name));
  const expected = await read(outputs, {});
  return {
    place: directory,
    inputs: await read(tensors.inputs, shapes),
    ...(expected.length > 0 && { expected: [expected] }),
  };
}

const NPY = '.npy';
const NPY_ENDING = /\.npy$/;

async function readTensor(
  path: string,
  spec: TensorSpec,
  statedShape: readonly number[] | undefined,
): Promise<SampleTensor> {
  const content = await readBytes(path, MAX_TENSOR_BYTES).catch((error: unknown) => {
    throw invalidInput(path, formatMessage(error), 'put the raw bytes of the tensor in a file');
  });
  if (spec.datatype === 'BYTES') {
    const values = countElements((statedShape ?? spec.dims).map((size) => (size === -1 ? 1 : size)));
    const elements = values === 1 ? [withoutLineEnd(content)] : listLines(content);
    const shape = shapeOfValues(path, spec, { count: elements.length, stated: statedShape });
    return { spec, raw: encodeTexts(elements), shape };
  }
  const { raw, shape } = isNpy(content) ? readNpy(path, spec, content) : { raw: content, shape: undefined };
  const stated = statedShape ?? (shape && withoutBatch(shape, spec));
  return { spec, raw, shape: shapeOfValues(path, spec, { count: countOfRaw(path, spec, raw), stated }) };
}

/** A saved array may have a batch of one in front. */
const withoutBatch = (shape: readonly number[], { dims }: TensorSpec): readonly number[] =>
  shape.length === dims.length + 1 && shape[0] === 1 ? shape.slice(1) : shape;

const LF = 0x0a;
const CR = 0x0d;

/** Editors end a line of text; a picture or a longer text is sent as it is. */
function withoutLineEnd(content: Buffer): Buffer {
  const feed = content.indexOf(LF);
  return feed >= 0 && feed === content.length - 1 ? withoutReturn(content.subarray(0, feed)) : content;
}

const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === CR ? line.subarray(0, -1) : line);

/** The last line may or may not end with a line break. */
function listLines(content: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < content.length; ) {
    const feed = content.indexOf(LF, start);
    const end = feed < 0 ? content.length : feed;
    lines.push(withoutReturn(content.subarray(start, end)));
    start = end + 1;
  }
  return lines;
}
