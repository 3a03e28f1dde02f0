import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/units.ts';
import { type Part, whole } from './pacing/part.ts';
import type { ChatMessage, Prompt } from './prompts/prompt.ts';
import { streamsOf } from './sequences.ts';
import type { InferRequest, PreparedRequest, RequestSet, SendOutcome, Transport } from './types.ts';

/** One run through a stream of turns. */
interface Running {
  readonly turns: readonly InferRequest[];
  /** Turns that were sent. */
  sent: number;
  /** What was said so far, answers included. */
  history: readonly ChatMessage[];
  /** Tokens of that; null if they were not counted. */
  historyTokens: number | null;
  /** When the user is ready with the next turn. */
  readyNs: number;
}

/**
 * Makes conversations of what a load generator sends: every request becomes the next turn of one whose user is ready, with what was
 * said before, the model's real answers too, in front of it. Where no user is ready a new conversation begins, so that as many requests
 * are in flight as the load level says, and as many conversations run as that takes. A failed turn ends its conversation. Streams of the
 * set take turns; of several threads each has streams of its own.
 */
export class Conversations<P extends PreparedRequest> implements Transport<PreparedRequest> {
  readonly #transport: Transport<P>;
  readonly #clock: Clock;
  readonly #streams: readonly (readonly InferRequest[])[];
  readonly #part: Part;
  /** With nothing in flight, by when they are ready. */
  readonly #waiting: Running[] = [];
  #opened = 0;

  constructor(transport: Transport<P>, set: RequestSet, clock: Clock, part: Part = whole) {
    this.#transport = transport;
    this.#clock = clock;
    this.#streams = streamsOf(set);
    this.#part = part;
  }

  /** Conversations that wait for their user. */
  get waiting(): number {
    return this.#waiting.length;
  }

  prepare(request: InferRequest): PreparedRequest {
    return { request };
  }

  /** Sends the next turn of some conversation, whatever was prepared. */
  send(_: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    const running = this.#ready() ?? this.#open();
    const request = running.turns[running.sent] as InferRequest;
    running.sent++;
    const isLast = running.sent === running.turns.length;
    const prompt = inHistory(request.prompt as Prompt, running, isLast);
    this.#transport.send(this.#transport.prepare({ ...request, prompt }), (outcome) => {
      if (outcome.ok && !isLast) this.#await(running, prompt, outcome);
      done(outcome);
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #ready(): Running | undefined {
    const next = this.#waiting[0];
    return next && next.readyNs <= this.#clock.nowNs() ? this.#waiting.shift() : undefined;
  }

  #open(): Running {
    const { index, of } = this.#part;
    const stream = (index + this.#opened++ * of) % this.#streams.length;
    const turns = this.#streams[stream] as readonly InferRequest[];
    return { turns, sent: 0, history: [], historyTokens: 0, readyNs: 0 };
  }

  #await(running: Running, prompt: Prompt, { tokens }: Extract<SendOutcome, { readonly ok: true }>): void {
    running.history = [...prompt.messages, { role: 'assistant', content: tokens?.text ?? '' }];
    running.historyTokens = prompt.inputTokens === null || !tokens ? null : prompt.inputTokens + tokens.outputTokens;
    const thinkMs = running.turns[running.sent]?.prompt?.thinkMs ?? 0;
    running.readyNs = this.#clock.nowNs() + thinkMs * NS_PER_MS;
    let at = this.#waiting.length;
    while (at > 0 && (this.#waiting[at - 1] as Running).readyNs > running.readyNs) at--;
    this.#waiting.splice(at, 0, running);
  }
}

function inHistory(prompt: Prompt, { history, historyTokens }: Running, isLast: boolean): Prompt {
  const { inputTokens } = prompt;
  return {
    ...prompt,
    messages: [...history, ...prompt.messages],
    inputTokens: inputTokens === null || historyTokens === null ? null : historyTokens + inputTokens,
    ...(!isLast && { wantsText: true }),
  };
}
