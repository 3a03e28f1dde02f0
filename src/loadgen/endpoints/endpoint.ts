import type { TlsOptions } from '#triton/wire/tls.ts';
import type { SocketGate } from '../transports/socket.ts';
import type { RequestHeader } from '../types.ts';

/**
 * How to send requests to a language model, and what is known about its answers. Plain data that
 * can be sent to threads.
 */
export type LanguageEndpoint = OpenAiEndpoint | TritonEndpoint;

/** OpenAI's APIs, and Anthropic's, which is of the same make. */
export interface OpenAiEndpoint {
  readonly kind: 'openai-chat' | 'openai-completions' | 'openai-responses' | 'anthropic-messages';
  /** Path of the call, such as `/v1/chat/completions`. */
  readonly path: string;
  /** The server takes `stream_options` and reports token counts. */
  readonly saysUsage: boolean;
  /** It takes `ignore_eos` and `min_tokens`, and continues to the requested length. */
  readonly canIgnoreEnd: boolean;
  /** The field for the number of tokens; `max_tokens` if absent. */
  readonly lengthField?: 'max_completion_tokens' | undefined;
  /** True if its replies come whole instead of as streams of events. */
  readonly isWhole?: boolean | undefined;
}

export interface TritonEndpoint {
  readonly kind: 'triton-generate' | 'triton-grpc';
  readonly version: string;
  /** The model's inputs, some of which control how it answers. */
  readonly inputs: readonly TextModelInput[];
  /** The output with the text. */
  readonly output: string;
}

export interface TextModelInput {
  readonly name: string;
  readonly datatype: string;
  /** Includes the batch dimension; -1 for any size. */
  readonly shape: readonly number[];
}

export type EndpointKind = LanguageEndpoint['kind'];

/** The address of a language model, and how to send requests to it. */
export interface EndpointOptions {
  /** HOST:PORT, for a Triton over HTTP with its base path. */
  readonly address: string;
  /** The Host header. */
  readonly host: string;
  readonly model: string;
  readonly endpoint: LanguageEndpoint;
  readonly timeoutMs: number;
  readonly headers: readonly RequestHeader[];
  /** If absent, connections are in plaintext. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Extra fields of the request's body, or parameters of the request, in addition to those that the
   * prompt needs.
   */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /** If set, it decides about every socket. */
  readonly gate?: SocketGate | undefined;
}
