import { listTexts, type Prompt } from '../prompts/prompt.ts';
import type { OpenAiEndpoint } from './endpoint.ts';

/**
 * Returns the body of a streamed call, before JSON encoding. `ignore_eos` and `min_tokens` belong
 * to vLLM and SGLang; others ignore or refuse them. `max_tokens` is known everywhere, although
 * OpenAI itself has a newer name.
 */
export function openAiBody(
  { kind, saysUsage, canIgnoreEnd }: OpenAiEndpoint,
  model: string,
  { messages, maxTokens, ignoresEnd, fields }: Prompt,
): Readonly<Record<string, unknown>> {
  return {
    ...fields,
    model,
    ...(kind === 'openai-chat' ? { messages } : { prompt: plainText({ messages }) }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(ignoresEnd && canIgnoreEnd && { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) }),
    stream: true,
    ...(saysUsage && { stream_options: { include_usage: true } }),
  };
}

/** Returns the messages as one text, for models that take only text. */
export const plainText = ({ messages }: Pick<Prompt, 'messages'>): string => listTexts(messages).join('\n\n');
