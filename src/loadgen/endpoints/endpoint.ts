import type { TlsOptions } from '../../triton/wire/tls.ts';
import type { RequestHeader } from '../types.ts';

/** How a language model is asked, and what is known of how it answers. Plain data, to go to the threads that send. */
export type LanguageEndpoint = OpenAiEndpoint | TritonEndpoint;

export interface OpenAiEndpoint {
  readonly kind: 'openai-chat' | 'openai-completions';
  /** Path of the call, such as `/v1/chat/completions`. */
  readonly path: string;
  /** The server takes `stream_options`, and says how many tokens there were. */
  readonly saysUsage: boolean;
  /** It takes `ignore_eos` and `min_tokens`, and goes on to the length that was asked for. */
  readonly canIgnoreEnd: boolean;
}

export interface TritonEndpoint {
  readonly kind: 'triton-generate' | 'triton-grpc';
  readonly version: string;
  /** The model's inputs, of which some are about how it answers. */
  readonly inputs: readonly TextModelInput[];
  /** The output that is the text. */
  readonly output: string;
}

export interface TextModelInput {
  readonly name: string;
  readonly datatype: string;
  /** With the batch dimension; -1 for any size. */
  readonly shape: readonly number[];
}

export type EndpointKind = LanguageEndpoint['kind'];

/** Where a language model is asked, and how. */
export interface EndpointOptions {
  /** HOST:PORT */
  readonly address: string;
  /** The Host header. */
  readonly host: string;
  readonly model: string;
  readonly endpoint: LanguageEndpoint;
  readonly timeoutMs: number;
  readonly headers: readonly RequestHeader[];
  /** Without it everything goes in plaintext. */
  readonly tls?: TlsOptions | undefined;
  /** Fields of the request's body, or parameters of the request, beside those that the prompt needs. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}
