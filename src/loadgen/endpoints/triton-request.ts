import { TrituneError } from '#base/errors.ts';
import { type Prompt, samplingFields } from '../prompts/prompt.ts';
import type { RequestSet } from '../types.ts';
import type { TextModelInput, TritonEndpoint } from './endpoint.ts';
import { plainText } from './openai-request.ts';

/**
 * A value for an input of the model, or for a parameter of the request if the model lacks that
 * input.
 */
export interface NamedValue {
  readonly name: string;
  readonly value: string | number | boolean;
  /** Undefined for a parameter. */
  readonly input: TextModelInput | undefined;
}

/**
 * Inputs that may hold a prompt, the most likely first: of the vLLM and TensorRT-LLM backends, and
 * of hand-written models.
 */
const TEXT_INPUTS = ['text_input', 'prompt', 'text', 'INPUT_0', 'input_text'] as const;
const TEXT_OUTPUTS = ['text_output', 'output', 'text', 'OUTPUT_0', 'output_text'] as const;

/**
 * Returns the model's input for the prompt, and its output with the text. Errors: UNSUPPORTED for a
 * model without them.
 */
export function textTensors(
  model: string,
  inputs: readonly TextModelInput[],
  outputs: readonly Pick<TextModelInput, 'name' | 'datatype'>[],
): { readonly input: TextModelInput; readonly output: string } {
  const input = textAmong(inputs, TEXT_INPUTS);
  const output = textAmong(outputs, TEXT_OUTPUTS);
  if (input && output) return { input, output: output.name };
  const lacks = input ? 'output' : 'input';
  const [usual] = input ? TEXT_OUTPUTS : TEXT_INPUTS;
  throw new TrituneError(
    'UNSUPPORTED',
    `'${model}' has no known text ${lacks}, such as ${usual}`,
    'leave out --endpoint to measure it with tensors',
  );
}

/** Returns the first of the usual names, or else the only tensor of strings. */
function textAmong<T extends Pick<TextModelInput, 'name' | 'datatype'>>(
  tensors: readonly T[],
  names: readonly string[],
): T | undefined {
  const texts = tensors.filter(({ datatype }) => datatype === 'BYTES');
  for (const name of names) {
    const text = texts.find((each) => each.name === name);
    if (text) return text;
  }
  return texts.length === 1 ? texts[0] : undefined;
}

/**
 * Returns the values that a request sends to a Triton text model: `stream`, `max_tokens` and the
 * rest. They are inputs if the model has them (TensorRT-LLM backend:
 * `all_models/inflight_batcher_llm/ensemble/config.pbtxt`), else part of the JSON of
 * `sampling_parameters` (vLLM backend: `utils/request.py`), else parameters of the request, which
 * that backend reads as well.
 */
export function tritonValues(model: string, { inputs, output }: TritonEndpoint, prompt: Prompt): readonly NamedValue[] {
  const { maxTokens, ignoresEnd, fields = {} } = prompt;
  const text = textTensors(model, inputs, [{ name: output, datatype: 'BYTES' }]).input;
  const inputNamed = (name: string): TextModelInput | undefined => inputs.find((each) => each.name === name);
  const sampling = {
    ...fields,
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(ignoresEnd && { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) }),
  };
  const settings: Readonly<Record<string, unknown>> = inputNamed('sampling_parameters')
    ? { sampling_parameters: JSON.stringify(sampling) }
    : sampling;
  const parameters = { stream: true, streaming: true, exclude_input_in_output: true };
  const counts = { return_num_input_tokens: true, return_num_output_tokens: true };
  return [
    { name: text.name, value: plainText(prompt), input: text },
    ...Object.entries(settings).flatMap(([name, value]) =>
      isScalar(value) ? [{ name, value, input: inputNamed(name) }] : [],
    ),
    ...Object.entries({ ...parameters, ...counts }).flatMap(([name, value]) => {
      const input = inputNamed(name);
      return input ? [{ name, value, input }] : [];
    }),
  ];
}

const isScalar = (value: unknown): value is NamedValue['value'] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/**
 * Checks that a Triton model has a place for what the prompts were recorded with. Errors:
 * INPUT_INVALID with the name of a field.
 */
export function requirePlaces({ requests }: Pick<RequestSet, 'requests'>, { inputs }: TritonEndpoint): void {
  const takesJson = inputs.some(({ name }) => name === 'sampling_parameters');
  for (const { prompt } of requests) {
    const fields = Object.entries(prompt?.fields ?? {});
    const lost = fields.find(([name, value]) => !samplingFields.includes(name) || !(takesJson || isScalar(value)));
    if (lost === undefined) continue;
    throw new TrituneError(
      'INPUT_INVALID',
      `the prompts were recorded with '${lost[0]}', which a Triton model does not take`,
      'remove it from the prompt file, or measure the model behind an OpenAI endpoint',
    );
  }
}
