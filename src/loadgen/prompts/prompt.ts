/** A request to a language model, in the terms that every endpoint has. */
export interface Prompt {
  /** At least one; a plain text is one message of the user. */
  readonly messages: readonly ChatMessage[];
  /** Tokens of the messages, if they were counted; otherwise null. */
  readonly inputTokens: number | null;
  /** Tokens to answer with at most; null leaves that to the server. */
  readonly maxTokens: number | null;
  /** The server is asked to go on to `maxTokens` whatever the model says, where it knows how. */
  readonly ignoresEnd: boolean;
  /** The reply's text is asked for: a later turn of the conversation has it in its history. */
  readonly wantsText?: true;
  /** In a conversation: milliseconds from the reply of the turn before to the sending of this one, at least. */
  readonly thinkMs?: number;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}
