import { listTexts, type MessagePart } from '../prompts/prompt.ts';
import { createFixedLength, withParts } from './openai-request.ts';
import { type EventFormat, errorText, readCount, toFields, toList, toText } from './stream-event.ts';
import type { TextApi } from './text-api.ts';

/** The API wants a limit; this one leaves the length to the model. */
const NO_LIMIT_TOKENS = 4096;

/** The piece of a `content_block_delta`, or of a block of a whole reply: text, thought or call. */
const toPiece = ({ text, thinking, partial_json: json, input }: Readonly<Record<string, unknown>>): string =>
  [toText(text), toText(thinking), toText(json), input === undefined ? '' : JSON.stringify(input)].join('');

/**
 * Events of Anthropic's messages: `message_start` has the input tokens, each `content_block_delta`
 * a piece, `message_delta` the output tokens so far, `message_stop` ends it. A whole reply is the
 * message with its blocks.
 */
const messagesEvents: EventFormat = {
  outputKeys: ['text', 'thinking', 'partial_json'],
  addsTokens: false,
  saysEnd: true,
  read(event) {
    const fields = toFields(event);
    const isWhole = fields.type === 'message';
    const blocks = isWhole ? toList(fields.content).map(toFields) : [];
    const delta = fields.type === 'content_block_delta' ? toFields(fields.delta) : {};
    const usage = toFields(fields.type === 'message_start' ? toFields(fields.message).usage : fields.usage);
    return {
      output: toPiece(delta) + blocks.map(toPiece).join(''),
      answer: toText(delta.text) + blocks.map(({ text }) => toText(text)).join(''),
      isEnd: isWhole || fields.type === 'message_stop',
      ...readCount('inputTokens', usage.input_tokens),
      ...(fields.type !== 'message_start' && readCount('outputTokens', usage.output_tokens)),
      ...readCount('cachedTokens', usage.cache_read_input_tokens),
      ...(fields.type === 'error' && { error: errorText(fields.error ?? 'error') }),
    };
  },
};

/** A data URL of a picture. */
const DATA_URL = /^data:([^;,]+);base64,/;

function toContentBlock(part: MessagePart): object {
  if (part.type === 'text') return part;
  const { url } = part.image_url;
  const [start, mediaType] = DATA_URL.exec(url) ?? [];
  const source =
    start === undefined
      ? { type: 'url', url }
      : { type: 'base64', media_type: mediaType, data: url.slice(start.length) };
  return { type: 'image', source };
}

/** Anthropic's `POST /v1/messages`. System texts stand beside the messages. */
export const messagesApi: TextApi = {
  path: '/messages',
  headers: [{ name: 'anthropic-version', value: '2023-06-01' }],
  events: messagesEvents,
  createBody({ canIgnoreEnd, isWhole }, model, { messages, maxTokens, ignoresEnd, fields }) {
    const isSystem = ({ role }: (typeof messages)[number]): boolean => role === 'system' || role === 'developer';
    const system = listTexts(messages.filter(isSystem));
    return {
      ...fields,
      model,
      messages: withParts(
        messages.filter((message) => !isSystem(message)),
        toContentBlock,
      ),
      ...(system.length > 0 && { system: system.join('\n') }),
      max_tokens: maxTokens ?? NO_LIMIT_TOKENS,
      ...createFixedLength(canIgnoreEnd, { maxTokens, ignoresEnd }),
      stream: isWhole !== true,
    };
  },
};
