import type { Prompt } from '../prompts/prompt.ts';
import type { RequestHeader } from '../types.ts';
import type { OpenAiEndpoint } from './endpoint.ts';
import type { EventFormat } from './stream-event.ts';

/** An API that takes texts and replies with an event for each piece, or with one JSON. */
export interface TextApi {
  /** The path of its call, after the version of the API. */
  readonly path: string;
  /** Headers that it needs, unless the user states them. */
  readonly headers: readonly RequestHeader[];
  /** Reads its events, and its replies that come whole. */
  readonly events: EventFormat;
  /** Returns the body of a call, before JSON encoding. */
  createBody(endpoint: OpenAiEndpoint, model: string, prompt: Prompt): Readonly<Record<string, unknown>>;
}
