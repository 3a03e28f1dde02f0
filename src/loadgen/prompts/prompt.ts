/** A request to a language model, in terms that every endpoint shares. */
export interface Prompt {
  /** At least one; a plain text is one message of the user. */
  readonly messages: readonly ChatMessage[];
  /** Tokens of the messages; null if they were not counted. */
  readonly inputTokens: number | null;
  /** The maximum number of tokens in the answer; null leaves that to the server. */
  readonly maxTokens: number | null;
  /**
   * True to ask the server to continue to `maxTokens` whatever the model says, if it supports that.
   */
  readonly ignoresEnd: boolean;
  /** The reply's text is needed for the history of a later turn. */
  readonly wantsText?: true;
  /**
   * In a conversation: the minimum number of milliseconds from the previous turn's reply to the
   * sending of this one.
   */
  readonly thinkMs?: number;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}
