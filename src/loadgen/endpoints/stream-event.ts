import { isJsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';

/** The content of one event of a streamed reply. Counts are absent if it has none. */
export interface StreamEvent {
  /** All text that the model produced in it, including reasoning and tool calls. */
  readonly output: string;
  /** The part of the text that is for the user. */
  readonly answer: string;
  /** The model has said that it is done. */
  readonly isEnd: boolean;
  readonly inputTokens?: number;
  /** Output tokens of the whole reply, or of this event alone if the format `addsTokens`. */
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  /** Set if the server gave up; its own words. */
  readonly error?: string;
}

/** How a kind of endpoint encodes its replies as events. */
export interface EventFormat {
  /** The keys whose strings are output, the most likely first. */
  readonly outputKeys: readonly string[];
  /** Token counts belong to single events, and add up. */
  readonly addsTokens: boolean;
  /**
   * True if the stream itself must mark a reply as complete; otherwise the end of the body does.
   */
  readonly saysEnd: boolean;
  /** Reads the JSON of an event, of any shape. */
  read(event: unknown): StreamEvent;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of a JSON object; none of anything else. */
export const toFields = (value: unknown): Fields => (isJsonObject(value) ? value : {});
/** Returns a list of JSON; empty for anything else. */
export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Returns a text of JSON; empty for anything else. */
export const toText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads a count of tokens; the server may have sent anything there. */
export const readCount = <K extends string>(name: K, value: unknown): { readonly [F in K]?: number } =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? ({ [name]: value } as { readonly [F in K]?: number })
    : {};

/**
 * Chunks of OpenAI's chat and text completions, as vLLM, SGLang, TensorRT-LLM, Dynamo and llama.cpp
 * send them. Reasoning is in fields of such names; the last chunk has `usage` if
 * `stream_options.include_usage` asked for it.
 */
export const openAiEvents: EventFormat = {
  outputKeys: ['content', 'text', 'reasoning_content', 'reasoning', 'arguments'],
  addsTokens: false,
  saysEnd: true,
  read(event) {
    const { choices, usage, error, object, message } = toFields(event);
    const failure = error ?? (object === 'error' ? (message ?? 'error') : undefined);
    const parts = toList(choices).map(toFields);
    const counts = toFields(usage);
    return {
      output: parts.map(outputOfChoice).join(''),
      answer: parts.map(answerOfChoice).join(''),
      isEnd: parts.some(({ finish_reason: reason }) => reason !== undefined && reason !== null),
      ...readCount('inputTokens', counts.prompt_tokens),
      ...readCount('outputTokens', counts.completion_tokens),
      ...readCount('cachedTokens', toFields(counts.prompt_tokens_details).cached_tokens),
      ...(failure !== undefined && failure !== null && { error: errorText(failure) }),
    };
  },
};

/** `reasoning_content`, `reasoning`, `reasoning_details`, `thinking` and their like. */
const REASONING = /reason|think/i;

/** Returns the texts of reasoning: plain, or in a list of parts. */
function readTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  const parts = Array.isArray(value) ? value : [value];
  return parts.map(toFields).flatMap(({ text, summary, content }) => [text, summary, content].map(toText));
}

/** A reply that comes whole has a `message` in place of the `delta` of an event. */
const readContent = ({ delta, message }: Fields): Fields => toFields(delta ?? message);

const answerOfChoice = (choice: Fields): string => toText(choice.text) + toText(readContent(choice).content);

function outputOfChoice(choice: Fields): string {
  const { tool_calls, ...fields } = readContent(choice);
  const calls = toList(tool_calls).map((call) => toFields(toFields(call).function));
  return [
    answerOfChoice(choice),
    ...Object.entries(fields).flatMap(([name, value]) => (REASONING.test(name) ? readTexts(value) : [])),
    ...calls.map(({ name, arguments: argumentText }) => toText(name) + toText(argumentText)),
  ].join('');
}

/**
 * Returns the format of Triton's `generate_stream`: each event is a flat object of a response's
 * outputs, of which `output` is the text. `num_output_tokens` of the vLLM and TensorRT-LLM backends
 * counts the tokens that the response adds (`utils/request.py` of vllm_backend).
 */
export const createTritonEvents = (output: string): EventFormat => ({
  outputKeys: [output],
  addsTokens: true,
  saysEnd: false,
  read(event) {
    const fields = toFields(event);
    const { num_input_tokens: inputs, num_output_tokens: outputs, error } = fields;
    const value = lookUp(fields, output);
    const text = Array.isArray(value) ? value.map(toText).join('') : toText(value);
    return {
      output: text,
      answer: text,
      isEnd: false,
      ...readCount('inputTokens', first(inputs)),
      ...readCount('outputTokens', first(outputs)),
      ...(error !== undefined && error !== null && { error: errorText(error) }),
    };
  },
});

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

/** Returns the words of an error, in any of the forms that servers have. */
export function errorText(error: unknown): string {
  if (typeof error === 'string') return error === '' ? 'error' : error;
  const { message } = toFields(error);
  return toText(message) || JSON.stringify(error);
}
