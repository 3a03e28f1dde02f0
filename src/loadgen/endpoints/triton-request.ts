import { TrituneError } from '../../base/errors.ts';
import type { Prompt } from '../prompts/prompt.ts';
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
  const { maxTokens, ignoresEnd } = prompt;
  const text = textTensors(model, inputs, [{ name: output, datatype: 'BYTES' }]).input;
  const inputNamed = (name: string): TextModelInput | undefined => inputs.find((each) => each.name === name);
  const sampling = {
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(ignoresEnd && { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) }),
  };
  const settings: Record<string, string | number | boolean> = inputNamed('sampling_parameters')
    ? { sampling_parameters: JSON.stringify(sampling) }
    : sampling;
  const parameters = { stream: true, streaming: true, exclude_input_in_output: true };
  const counts = { return_num_input_tokens: true, return_num_output_tokens: true };
  return [
    { name: text.name, value: plainText(prompt), input: text },
    ...Object.entries(settings).map(([name, value]) => ({ name, value, input: inputNamed(name) })),
    ...Object.entries({ ...parameters, ...counts }).flatMap(([name, value]) => {
      const input = inputNamed(name);
      return input ? [{ name, value, input }] : [];
    }),
  ];
}
