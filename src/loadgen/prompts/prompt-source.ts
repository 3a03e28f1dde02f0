import type { InferRequest, RequestSet } from '../types.ts';
import type { Prompt } from './prompt.ts';

/** The turns of one user, in order; most users have one. */
export type Conversation = readonly Prompt[];

/** Prompts of any origin. */
export interface PromptSource {
  readonly conversations: readonly Conversation[];
  /** When each conversation began, ascending, in nanoseconds; null if unknown. */
  readonly arrivalsNs: readonly number[] | null;
  /** Notes for the user, one line each. */
  readonly notes: readonly string[];
}

/** Returns the prompts as requests of the model, one conversation after another. */
export function promptRequests({ conversations }: PromptSource, model: string): RequestSet {
  const common = { model, version: '', batch: 1 };
  const requests = conversations.flatMap((turns) =>
    turns.map((prompt): InferRequest => ({ ...common, inputs: [], prompt })),
  );
  if (requests.length === conversations.length) return { ...common, requests };
  return { ...common, requests, streamLengths: conversations.map(({ length }) => length), holdsConversations: true };
}
