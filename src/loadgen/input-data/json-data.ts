import { formatMessage } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { jsonTensor } from './json-tensor.ts';
import { parseLenientJson } from './lenient-json.ts';
import {
  findStatedShape,
  formatNames,
  invalidInput,
  type Sample,
  type SampleTensor,
  type StatedShapes,
} from './sample.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';

type Step = { readonly [tensor: string]: unknown };
/** The replies to a step: one, which may be empty if nothing is expected of it, or a list. */
type Replies = Step | readonly Step[];

/**
 * Returns the streams of a JSON data file: `{"data": […]}` with steps, which form one stream, or
 * with lists of steps, each of them a stream. `validation_data` of the same form holds the expected
 * outputs. Errors: INPUT_INVALID with file, stream, step and tensor.
 */
export function jsonStreams(
  file: string,
  text: string,
  tensors: ModelTensors,
  shapes: StatedShapes,
): readonly (readonly Sample[])[] {
  const { data, validation_data: validation, ...others } = parsed(file, text, tensors);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalidInput(
      file,
      `there is no '${unknown}' in a data file`,
      'use "data" and, for expected outputs, "validation_data"',
    );
  }
  const streams = readSteps(file, 'data', data, checkedStep);
  const expected = validation === undefined ? [] : readSteps(file, 'validation_data', validation, checkedReplies);
  if (validation !== undefined) checkSameForm(file, streams, expected);
  return streams.map((steps, stream) =>
    steps.map((step, index) => {
      const place = `${file}, stream ${stream}, step ${index}`;
      const replies = findExpected(place, expected[stream]?.[index] ?? {}, tensors);
      return { place, inputs: readInputs(place, step, tensors, shapes), ...(replies && { expected: replies }) };
    }),
  );
}

function parsed(file: string, text: string, tensors: ModelTensors): Record<string, unknown> {
  const exact = [...tensors.inputs, ...tensors.outputs].some((spec) => spec.datatype.endsWith('INT64'));
  let root: unknown;
  try {
    root = parseLenientJson(text, exact);
  } catch (error) {
    throw invalidInput(
      file,
      `it is not JSON: ${formatMessage(error)}`,
      'correct the file; a JSON checker shows the place',
    );
  }
  if (isObject(root)) return root;
  throw invalidInput(file, 'its JSON is not an object', 'write {"data": [{"INPUT": […]}, …]}');
}

/** Reads one step of a stream of the part that is called `name`. */
type ReadStep<S> = (file: string, name: string, stream: number, index: number, step: unknown) => S;

function readSteps<S>(file: string, name: string, list: unknown, read: ReadStep<S>): readonly (readonly S[])[] {
  if (!Array.isArray(list) || list.length === 0) {
    throw invalidInput(file, `its "${name}" is not a list of steps`, `write {"${name}": [{"TENSOR": […]}, …]}`);
  }
  if (!list.some(Array.isArray)) return [list.map((step, index) => read(file, name, 0, index, step))];
  return list.map((steps: unknown, stream) => {
    if (!Array.isArray(steps)) {
      throw invalidInput(
        file,
        `entry ${stream} of "${name}" is a step, but other entries are streams`,
        'put every step in a stream',
      );
    }
    if (steps.length === 0) {
      throw invalidInput(file, `stream ${stream} of "${name}" is empty`, 'give it a step, or leave it out');
    }
    return steps.map((step: unknown, index) => read(file, name, stream, index, step));
  });
}

function checkedStep(file: string, name: string, stream: number, index: number, step: unknown): Step {
  if (isObject(step)) return step;
  const place = `${file}, stream ${stream}, step ${index}`;
  throw invalidInput(place, `it is not an object in "${name}"`, 'write {"TENSOR": […], …} for each step');
}

/** A list is the replies to one step, in order; a single one needs none around it. */
const checkedReplies: ReadStep<Replies> = (file, name, stream, index, step) =>
  Array.isArray(step)
    ? step.map((reply: unknown) => checkedStep(file, name, stream, index, reply))
    : checkedStep(file, name, stream, index, step);

function checkSameForm(
  file: string,
  data: readonly (readonly unknown[])[],
  validation: readonly (readonly unknown[])[],
): void {
  const lengths = (streams: readonly (readonly unknown[])[]): string => streams.map((steps) => steps.length).join(', ');
  if (lengths(data) === lengths(validation)) return;
  throw invalidInput(
    file,
    `"validation_data" has streams of ${lengths(validation)} steps where "data" has ${lengths(data)}`,
    'give the outputs of each step, in the same order; {} for a step expects nothing',
  );
}

function readInputs(place: string, step: Step, tensors: ModelTensors, shapes: StatedShapes): SampleTensor[] {
  checkNames(place, step, tensors.inputs, 'input');
  const missing = tensors.inputs.find((spec) => !spec.isOptional && !Object.hasOwn(step, spec.name));
  if (missing) {
    throw invalidInput(place, `input '${missing.name}' is missing`, `the model takes ${formatNames(tensors.inputs)}`);
  }
  return tensors.inputs
    .filter((spec) => Object.hasOwn(step, spec.name))
    .map((spec) =>
      jsonTensor(`${place}, input '${spec.name}'`, spec, lookUp(step, spec.name), findStatedShape(shapes, spec.name)),
    );
}

function findExpected(place: string, replies: Replies, tensors: ModelTensors): Sample['expected'] {
  if (isList(replies)) return replies.map((reply) => readOutputs(place, reply, tensors));
  const outputs = readOutputs(place, replies, tensors);
  return outputs.length > 0 ? [outputs] : undefined;
}

const isList = (replies: Replies): replies is readonly Step[] => Array.isArray(replies);

function readOutputs(place: string, step: Step, tensors: ModelTensors): SampleTensor[] {
  checkNames(place, step, tensors.outputs, 'output');
  return tensors.outputs
    .filter((spec) => Object.hasOwn(step, spec.name))
    .map((spec) => jsonTensor(`${place}, output '${spec.name}'`, spec, lookUp(step, spec.name)));
}

/** Other tools put the model's name next to the tensors; a fixed schedule puts its times there. */
const besideTensors = ['model', 'timestamp'];

function checkNames(place: string, step: Step, specs: readonly TensorSpec[], kind: string): void {
  const unknown = Object.keys(step).find(
    (name) => !besideTensors.includes(name) && !specs.some((spec) => spec.name === name),
  );
  if (unknown === undefined) return;
  throw invalidInput(place, `the model has no ${kind} '${unknown.slice(0, 80)}'`, `it has ${formatNames(specs)}`);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
