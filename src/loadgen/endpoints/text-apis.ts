import { TrituneError } from '#base/errors.ts';
import { hasPictures } from '../prompts/prompt.ts';
import type { RequestSet } from '../types.ts';
import { messagesApi } from './anthropic-messages.ts';
import type { OpenAiEndpoint } from './endpoint.ts';
import { openAiBody } from './openai-request.ts';
import { responsesApi } from './openai-responses.ts';
import { openAiEvents } from './stream-event.ts';
import type { TextApi } from './text-api.ts';

/** The APIs by kind. */
export const textApis: Readonly<Record<OpenAiEndpoint['kind'], TextApi>> = {
  'openai-chat': { path: '/chat/completions', headers: [], events: openAiEvents, createBody: openAiBody },
  'openai-completions': { path: '/completions', headers: [], events: openAiEvents, createBody: openAiBody },
  'openai-responses': responsesApi,
  'anthropic-messages': messagesApi,
};

/** Fields of recorded chats that other APIs have in other forms. */
const CHAT_FIELDS = ['tools', 'tool_choice', 'response_format', 'parallel_tool_calls'];
const CHAT_KINDS: readonly OpenAiEndpoint['kind'][] = ['openai-chat', 'openai-completions'];

/** Errors: INPUT_INVALID for pictures, where something takes texts only. */
export function requireTexts(requests: RequestSet['requests'], takes: string): void {
  if (!requests.some(({ prompt }) => prompt && hasPictures(prompt))) return;
  throw new TrituneError(
    'INPUT_INVALID',
    `a message has pictures, and ${takes} texts only`,
    'use --endpoint openai-chat, or leave out the pictures',
  );
}

/**
 * Checks that an API has a place for all that the prompts say. Errors: INPUT_INVALID for the tools
 * of recorded chats on an API other than OpenAI's chat, and for pictures in a completion.
 */
export function requireChatForm({ requests }: RequestSet, { kind }: OpenAiEndpoint): void {
  if (kind === 'openai-completions') requireTexts(requests, 'a completion takes');
  if (CHAT_KINDS.includes(kind)) return;
  for (const { prompt } of requests) {
    const field = CHAT_FIELDS.find((name) => prompt?.fields && Object.hasOwn(prompt.fields, name));
    const isTool = prompt?.messages.some(({ role, tool_calls: calls }) => role === 'tool' || calls !== undefined);
    if (field === undefined && !isTool) continue;
    throw new TrituneError(
      'INPUT_INVALID',
      `a recorded chat has ${field === undefined ? 'calls of tools' : `the field "${field}"`}, whose form is of OpenAI's chat`,
      'use --endpoint openai-chat',
    );
  }
}
