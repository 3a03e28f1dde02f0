import { listTexts, type MessagePart, type Prompt } from '../prompts/prompt.ts';
import type { OpenAiEndpoint } from './endpoint.ts';

/**
 * Returns the fields by which a reply goes on to its length, if the prompt wants that and the
 * server can. `ignore_eos` and `min_tokens` belong to vLLM and SGLang, in each API that they serve;
 * others ignore or refuse them.
 */
export const createFixedLength = (
  canIgnoreEnd: boolean,
  { maxTokens, ignoresEnd }: Pick<Prompt, 'maxTokens' | 'ignoresEnd'>,
): Readonly<Record<string, unknown>> =>
  ignoresEnd && canIgnoreEnd ? { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) } : {};

/**
 * Returns the body of a call for a chat or a completion, before JSON encoding. `max_tokens` is
 * known nearly everywhere; OpenAI's own newer models want `max_completion_tokens`.
 */
export function openAiBody(
  { kind, saysUsage, canIgnoreEnd, lengthField, isWhole }: OpenAiEndpoint,
  model: string,
  { messages, maxTokens, ignoresEnd, fields }: Prompt,
): Readonly<Record<string, unknown>> {
  return {
    ...fields,
    model,
    ...(kind === 'openai-chat'
      ? { messages: withParts(messages, (part) => part) }
      : { prompt: plainText({ messages }) }),
    ...(maxTokens !== null && { [lengthField ?? 'max_tokens']: maxTokens }),
    ...createFixedLength(canIgnoreEnd, { maxTokens, ignoresEnd }),
    stream: isWhole !== true,
    ...(saysUsage && isWhole !== true && { stream_options: { include_usage: true } }),
  };
}

/**
 * Returns the messages as they are sent. The content of those with pictures is a list of parts, in
 * an API's form.
 */
export const withParts = (messages: Prompt['messages'], toPart: (part: MessagePart) => object): readonly object[] =>
  messages.map(({ parts, ...message }) => (parts ? { ...message, content: parts.map(toPart) } : message));

/** Returns the messages as one text, for models that take only text. */
export const plainText = ({ messages }: Pick<Prompt, 'messages'>): string => listTexts(messages).join('\n\n');
