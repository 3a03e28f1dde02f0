import { isJsonObject } from '../../base/json.ts';

/** What one event of a streamed reply says. Counts are absent where it says none. */
export interface StreamEvent {
  /** All text that the model gave in it, reasoning and calls of tools too. */
  readonly output: string;
  /** The text in it that is for the user. */
  readonly answer: string;
  /** The model has said that it is done. */
  readonly isEnd: boolean;
  readonly inputTokens?: number;
  /** Output tokens of the whole reply, or of this event alone where the format `addsTokens`. */
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  /** The server gave up; its own words. */
  readonly error?: string;
}

/** How a kind of endpoint puts its replies into events. */
export interface EventFormat {
  /** The keys whose strings are output, the likeliest first. */
  readonly outputKeys: readonly string[];
  /** Token counts are of each event, and add up. */
  readonly addsTokens: boolean;
  /** A reply is complete only where the server says so in the stream; else with the end of its body. */
  readonly saysEnd: boolean;
  /** Reads the JSON of an event, of any shape. */
  read(event: unknown): StreamEvent;
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isJsonObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A count of tokens, whatever the server sent in its place. */
const countOf = <K extends string>(name: K, value: unknown): { readonly [F in K]?: number } =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? ({ [name]: value } as { readonly [F in K]?: number })
    : {};

/**
 * Chunks of OpenAI's chat and text completions, as vLLM, SGLang, TensorRT-LLM, Dynamo and llama.cpp send them. Reasoning is in
 * `delta.reasoning_content` or `delta.reasoning`; the last chunk has `usage` where `stream_options.include_usage` asked for it.
 */
export const openAiEvents: EventFormat = {
  outputKeys: ['content', 'text', 'reasoning_content', 'reasoning', 'arguments'],
  addsTokens: false,
  saysEnd: true,
  read(event) {
    const { choices, usage, error, object, message } = fieldsOf(event);
    const failure = error ?? (object === 'error' ? (message ?? 'error') : undefined);
    const parts = listOf(choices).map(fieldsOf);
    const counts = fieldsOf(usage);
    return {
      output: parts.map(outputOfChoice).join(''),
      answer: parts.map(answerOfChoice).join(''),
      isEnd: parts.some(({ finish_reason: reason }) => reason !== undefined && reason !== null),
      ...countOf('inputTokens', counts.prompt_tokens),
      ...countOf('outputTokens', counts.completion_tokens),
      ...countOf('cachedTokens', fieldsOf(counts.prompt_tokens_details).cached_tokens),
      ...(failure !== undefined && failure !== null && { error: errorText(failure) }),
    };
  },
};

const answerOfChoice = ({ delta, text }: Fields): string => textOf(text) + textOf(fieldsOf(delta).content);

function outputOfChoice(choice: Fields): string {
  const { reasoning_content, reasoning, tool_calls } = fieldsOf(choice.delta);
  const calls = listOf(tool_calls).map((call) => fieldsOf(fieldsOf(call).function));
  return [
    answerOfChoice(choice),
    textOf(reasoning_content),
    textOf(reasoning),
    ...calls.map(({ name, arguments: given }) => textOf(name) + textOf(given)),
  ].join('');
}

/**
 * Returns the form of Triton's `generate_stream`: each event is a flat object of a response's outputs, of which `output` is the text.
 * `num_output_tokens` of the vLLM and TensorRT-LLM backends is what the response adds (`utils/request.py` of vllm_backend).
 */
export const tritonEventsOf = (output: string): EventFormat => ({
  outputKeys: [output],
  addsTokens: true,
  saysEnd: false,
  read(event) {
    const fields = fieldsOf(event);
    const { num_input_tokens: inputs, num_output_tokens: outputs, error } = fields;
    const value = fields[output];
    const text = Array.isArray(value) ? value.map(textOf).join('') : textOf(value);
    return {
      output: text,
      answer: text,
      isEnd: false,
      ...countOf('inputTokens', first(inputs)),
      ...countOf('outputTokens', first(outputs)),
      ...(error !== undefined && error !== null && { error: errorText(error) }),
    };
  },
});

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

function errorText(error: unknown): string {
  if (typeof error === 'string') return error === '' ? 'error' : error;
  const { message } = fieldsOf(error);
  return textOf(message) || JSON.stringify(error);
}
