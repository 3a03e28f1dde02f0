import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { formatMessage } from '../../base/errors.ts';
import { readBytes } from '../../base/read-file.ts';
import { encodeTexts } from '../tensors/text-elements.ts';
import { countOfRaw } from './json-tensor.ts';
import {
  findStatedShape,
  formatNames,
  invalidInput,
  type Sample,
  type SampleTensor,
  type StatedShapes,
} from './sample.ts';
import { shapeOfValues } from './shapes.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';

/** A tensor travels in one message, and a gRPC message length has 31 bits. */
export const MAX_TENSOR_BYTES = 2 ** 31 - 1;

/**
 * Returns one sample from a directory with one file per input, named after the input: its raw
 * bytes, little-endian, or for BYTES one line of text per value. A file named after an output holds
 * its expected values. Skips hidden files. Errors: INPUT_INVALID with the file.
 */
export async function directorySample(directory: string, tensors: ModelTensors, shapes: StatedShapes): Promise<Sample> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.')).sort();
  const known = [...tensors.inputs, ...tensors.outputs];
  const stray = names.find((name) => !known.some((spec) => spec.name === name));
  if (stray !== undefined) {
    throw invalidInput(join(directory, stray), 'the model has no such tensor', `it has ${formatNames(known)}`);
  }
  const missing = tensors.inputs.find((spec) => !spec.isOptional && !names.includes(spec.name));
  if (missing) {
    throw invalidInput(
      directory,
      `there is no file '${missing.name}'`,
      `the model takes ${formatNames(tensors.inputs)}`,
    );
  }
  const read = (specs: readonly TensorSpec[], shapes: StatedShapes): Promise<SampleTensor[]> =>
    Promise.all(
      specs
        .filter((spec) => names.includes(spec.name))
        .map((spec) => tensorOfFile(directory, spec, findStatedShape(shapes, spec.name))),
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

async function tensorOfFile(
  directory: string,
  spec: TensorSpec,
  shape: readonly number[] | undefined,
): Promise<SampleTensor> {
  const path = join(directory, spec.name);
  const content = await readBytes(path, MAX_TENSOR_BYTES).catch((error: unknown) => {
    throw invalidInput(path, formatMessage(error), 'put the raw bytes of the tensor in a file');
  });
  const lines = spec.datatype === 'BYTES' ? listLines(content) : null;
  const raw = lines ? encodeTexts(lines) : content;
  const count = lines ? lines.length : countOfRaw(path, spec, raw);
  return { spec, raw, shape: shapeOfValues(path, spec, { count, stated: shape }) };
}

/** The last line may or may not end with a line break. */
function listLines(content: Buffer): readonly string[] {
  const lines = content.toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
