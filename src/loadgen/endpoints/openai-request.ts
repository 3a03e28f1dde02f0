import type { Prompt } from '../prompts/prompt.ts';
import type { OpenAiEndpoint } from './endpoint.ts';

/**
 * Returns the body of a streamed call, before it is JSON. `ignore_eos` and `min_tokens` are vLLM's and SGLang's, and others ignore or refuse
 * them. `max_tokens` is known everywhere, also where OpenAI itself has a newer name.
 */
export function openAiBody(
  { kind, saysUsage, canIgnoreEnd }: OpenAiEndpoint,
  model: string,
  { messages, maxTokens, ignoresEnd }: Prompt,
): Readonly<Record<string, unknown>> {
  return {
    model,
    ...(kind === 'openai-chat' ? { messages } : { prompt: plainText({ messages }) }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(ignoresEnd && canIgnoreEnd && { ignore_eos: true, ...(maxTokens !== null && { min_tokens: maxTokens }) }),
    stream: true,
    ...(saysUsage && { stream_options: { include_usage: true } }),
  };
}

/** Returns the messages as one text, for models that take nothing else. */
export const plainText = ({ messages }: Pick<Prompt, 'messages'>): string =>
  messages.map(({ content }) => content).join('\n\n');
