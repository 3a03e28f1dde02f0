import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeTexts } from '../tensors/text-elements.ts';
import { countOfRaw } from './json-tensor.ts';
import { type GivenShapes, invalidInput, namesOf, type Sample, type SampleTensor, shapeGiven } from './sample.ts';
import { shapeOfValues } from './shapes.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';

/** A tensor travels in one message, and a gRPC message length has 31 bits. */
export const MAX_TENSOR_BYTES = 2 ** 31 - 1;

/**
 * Returns one sample from a directory with one file per input, named after the input: its raw bytes, little-endian, or for BYTES one line of text
 * per value. A file named after an output holds its expected values. Skips hidden files. Errors: INPUT_INVALID with the file.
 */
export async function directorySample(directory: string, tensors: ModelTensors, shapes: GivenShapes): Promise<Sample> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.')).sort();
  const known = [...tensors.inputs, ...tensors.outputs];
  const stray = names.find((name) => !known.some((spec) => spec.name === name));
  if (stray !== undefined) {
    throw invalidInput(join(directory, stray), 'the model has no such tensor', `it has ${namesOf(known)}`);
  }
  const missing = tensors.inputs.find((spec) => !spec.isOptional && !names.includes(spec.name));
  if (missing) {
    throw invalidInput(directory, `there is no file '${missing.name}'`, `the model takes ${namesOf(tensors.inputs)}`);
  }
  const read = (specs: readonly TensorSpec[], given: GivenShapes): Promise<SampleTensor[]> =>
    Promise.all(
      specs
        .filter((spec) => names.includes(spec.name))
        .map((spec) => tensorOfFile(directory, spec, shapeGiven(given, spec.name))),
    );
  const isInput = (name: string): boolean => tensors.inputs.some((spec) => spec.name === name);
  const outputs = tensors.outputs.filter((spec) => !isInput(spec.name));
  return { place: directory, inputs: await read(tensors.inputs, shapes), expected: await read(outputs, {}) };
}

async function tensorOfFile(
  directory: string,
  spec: TensorSpec,
  given: readonly number[] | undefined,
): Promise<SampleTensor> {
  const path = join(directory, spec.name);
  const entry = await stat(path);
  if (!entry.isFile()) throw invalidInput(path, 'it is not a file', 'put the raw bytes of the tensor in a file');
  if (entry.size > MAX_TENSOR_BYTES) {
    throw invalidInput(path, `${entry.size} bytes are too many for one tensor`, `give at most ${MAX_TENSOR_BYTES}`);
  }
  const content = await readFile(path);
  const lines = spec.datatype === 'BYTES' ? linesOf(content) : null;
  const raw = lines ? encodeTexts(lines) : content;
  const count = lines ? lines.length : countOfRaw(path, spec, raw);
  return { spec, raw, shape: shapeOfValues(path, spec, { count, given }) };
}

/** The last line may or may not end with a line break. */
function linesOf(content: Buffer): readonly string[] {
  const lines = content.toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
