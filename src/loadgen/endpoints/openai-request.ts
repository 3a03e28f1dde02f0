import { listTexts, type Prompt } from '../prompts/prompt.ts';
import type { OpenAiEndpoint } from './endpoint.ts';

/**
 * Returns the body of a call for a chat or a completion, before JSON encoding. `ignore_eos` and
 * `min_tokens` belong to vLLM and SGLang; others ignore or refuse them. `max_tokens` is known
 * nearly everywhere; OpenAI's own newer models want `max_completion_tokens`.
 */
export function openAiBody(
  { kind, saysUsage, canIgnoreEnd, lengthField, isWhole }: OpenAiEndpoint,
  model: string,
  { messages, maxTokens, ignoresEnd, fields }: Prompt,
): Readonly<Record<string, unknown>> {
  return {
    ...fields,
    model,
    ...(kind === 'openai-chat' ? { messages } : { prompt: plainText({ messages }) }),
    ...(maxTokens !== null && { [lengthField ?? 'max_tokens']: maxTokens }),
    ...(ignoresEnd && canIgnoreEnd && { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) }),
    stream: isWhole !== true,
    ...(saysUsage && isWhole !== true && { stream_options: { include_usage: true } }),
  };
}

/** Returns the messages as one text, for models that take only text. */
export const plainText = ({ messages }: Pick<Prompt, 'messages'>): string => listTexts(messages).join('\n\n');
