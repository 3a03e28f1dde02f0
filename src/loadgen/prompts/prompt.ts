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
  /** Fields of a recorded call that are sent as they are, such as `temperature` and `tools`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** null in a message that only calls tools. */
  readonly content: string | null;
  /** Its texts and pictures in their order, if it has pictures; `content` has the texts. */
  readonly parts?: readonly MessagePart[];
  /** The calls of an assistant, as recorded. */
  readonly tool_calls?: readonly unknown[];
  /** The call that a tool's message answers. */
  readonly tool_call_id?: string;
}

/** A part of a message, in the form of OpenAI's chat. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: PictureUrl };

/** A picture: a data URL, or one that the server fetches. */
export interface PictureUrl {
  readonly url: string;
  /** The resolution at which the model looks at it, as OpenAI names it. */
  readonly detail?: string;
}

/** True if a message of the prompt has pictures. */
export const hasPictures = ({ messages }: Pick<Prompt, 'messages'>): boolean =>
  messages.some(({ parts }) => parts !== undefined);

/** Returns the texts of messages, in their order. */
export const listTexts = (messages: readonly ChatMessage[]): readonly string[] =>
  messages.flatMap(({ content }) => content ?? []);

/** Recorded fields about the choice of tokens, by the names of vLLM's `SamplingParams`. */
export const samplingFields: readonly string[] = [
  ...['temperature', 'top_p', 'top_k', 'min_p', 'seed', 'stop', 'stop_token_ids', 'logprobs'],
  ...['presence_penalty', 'frequency_penalty', 'repetition_penalty', 'length_penalty', 'skip_special_tokens'],
];
