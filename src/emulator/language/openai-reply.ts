import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/reply.ts';
import type { TextAnswer } from './language-version.ts';
import type { TextsKind } from './openai-request.ts';

/** The two endpoints differ only in their wording. */
export type OpenAiKind = 'chat' | 'completion';

export interface ReplyHead {
  readonly kind: OpenAiKind;
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
}

const toUsage = ({ promptTokens, outputTokens, submitted }: TextAnswer) => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens + outputTokens,
  completion_tokens: outputTokens,
  prompt_tokens_details: { cached_tokens: submitted.cachedTokens },
});

/** Returns the whole answer as one JSON object. */
export function sendAnswer(response: ServerResponse, { kind, ...head }: ReplyHead, answer: TextAnswer): void {
  const content = kind === 'chat' ? { message: { role: 'assistant', content: answer.text } } : { text: answer.text };
  sendJson(response, 200, {
    ...head,
    object: kind === 'chat' ? 'chat.completion' : 'text_completion',
    choices: [{ index: 0, ...content, logprobs: null, finish_reason: answer.finish }],
    usage: toUsage(answer),
  });
}

/**
 * Dimensions of an emulated embedding: fewer than of most models, so that writing them costs the
 * emulator little.
 */
const DIMENSIONS = 64;
const CLASSES = ['negative', 'neutral', 'positive'];

/** Answers texts at once, each by the same figures. */
export function sendTexts(
  response: ServerResponse,
  kind: TextsKind,
  { model, texts, promptTokens }: { readonly model: string; readonly texts: number; readonly promptTokens: number },
): void {
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  const each = <T>(of: (index: number) => T): readonly T[] => Array.from({ length: texts }, (_, index) => of(index));
  const embedding = Array.from({ length: DIMENSIONS }, (_, index) => Number((Math.cos(index) / 8).toFixed(6)));
  const probs = CLASSES.map(() => 1 / CLASSES.length);
  const replies = {
    embeddings: () => ({
      object: 'list',
      data: each((index) => ({ object: 'embedding', index, embedding })),
      model,
      usage,
    }),
    rerank: () => ({ model, results: each((index) => ({ index, relevance_score: 1 / (1 + index) })), usage }),
    classify: () => ({
      object: 'list',
      data: each((index) => ({ index, label: CLASSES[1], probs, num_classes: CLASSES.length })),
      model,
      usage,
    }),
  };
  sendJson(response, 200, replies[kind]());
}

/** An answer as server-sent events, one chunk per token, as vLLM writes them. */
export class AnswerStream {
  readonly #response: ServerResponse;
  readonly #kind: OpenAiKind;
  /** The start of every chunk, as JSON without its closing brace. */
  readonly #head: string;

  constructor(response: ServerResponse, { kind, id, model, created }: ReplyHead) {
    this.#response = response;
    this.#kind = kind;
    const object = kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    this.#head = JSON.stringify({ id, object, created, model }).slice(0, -1);
  }

  /**
   * Sends the status and the head of the reply as soon as the request is accepted, before the first
   * token.
   */
  open(): void {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    this.#response.flushHeaders();
  }

  token(text: string, isFirst: boolean, finish: string | null): void {
    if (this.#kind === 'completion') this.#choice({ text }, finish);
    else {
      const role = isFirst ? this.#chunk([{ ...choice, delta: { role: 'assistant', content: '' } }]) : '';
      this.#write(role + this.#chunk([{ ...choice, delta: { content: text }, finish_reason: finish }]));
    }
  }

  end(usage: TextAnswer | null): void {
    const last = usage ? this.#chunk([], toUsage(usage)) : '';
    this.#response.end(`${last}data: [DONE]\n\n`);
  }

  #choice(content: object, finish: string | null): void {
    this.#write(this.#chunk([{ ...choice, ...content, finish_reason: finish }]));
  }

  #chunk(choices: readonly object[], usage?: object): string {
    const rest = usage ? `,"usage":${JSON.stringify(usage)}` : '';
    return `data: ${this.#head},"choices":${JSON.stringify(choices)}${rest}}\n\n`;
  }

  #write(text: string): void {
    this.#response.write(text);
  }
}

const choice = { index: 0, logprobs: null, finish_reason: null };
