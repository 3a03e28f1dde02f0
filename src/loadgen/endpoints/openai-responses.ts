import type { MessagePart } from '../prompts/prompt.ts';
import { createFixedLength, withParts } from './openai-request.ts';
import { type EventFormat, errorText, readCount, toFields, toList, toText } from './stream-event.ts';
import type { TextApi } from './text-api.ts';

/**
 * Events of OpenAI's responses: `response.output_text.delta` and its like have a piece each, the
 * last one has the response with its usage. A whole reply is that response.
 */
const responsesEvents: EventFormat = {
  outputKeys: ['delta'],
  addsTokens: false,
  saysEnd: true,
  read(event) {
    const fields = toFields(event);
    const type = toText(fields.type);
    const isWhole = fields.object === 'response';
    const response = isWhole ? fields : toFields(fields.response);
    const failure = fields.error ?? response.error ?? (type === 'error' ? (fields.message ?? 'error') : undefined);
    const piece = type.endsWith('.delta') ? toText(fields.delta) : '';
    const parts = isWhole ? toList(response.output).map(toFields) : [];
    const texts = parts.flatMap(({ content }) => toList(content).map((part) => toText(toFields(part).text)));
    const calls = parts.map((part) => toText(part.arguments));
    const usage = toFields(response.usage);
    return {
      output: piece + texts.join('') + calls.join(''),
      answer: (type === 'response.output_text.delta' ? piece : '') + texts.join(''),
      isEnd: isWhole || type === 'response.completed' || type === 'response.incomplete',
      ...readCount('inputTokens', usage.input_tokens),
      ...readCount('outputTokens', usage.output_tokens),
      ...readCount('cachedTokens', toFields(usage.input_tokens_details).cached_tokens),
      ...(failure !== undefined && failure !== null && { error: errorText(failure) }),
    };
  },
};

const toInputPart = (part: MessagePart): object =>
  part.type === 'text'
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' };

/** OpenAI's `POST /v1/responses`, which vLLM serves too. */
export const responsesApi: TextApi = {
  path: '/responses',
  headers: [],
  events: responsesEvents,
  createBody: ({ canIgnoreEnd, isWhole }, model, { messages, maxTokens, ignoresEnd, fields }) => ({
    ...fields,
    model,
    input: withParts(messages, toInputPart),
    ...(maxTokens !== null && { max_output_tokens: maxTokens }),
    ...createFixedLength(canIgnoreEnd, { maxTokens, ignoresEnd }),
    stream: isWhole !== true,
  }),
};
