import type { Clock } from '#base/clock.ts';
import { NS_PER_MS } from '#base/units.ts';
import { type Part, whole } from './paced-part.ts';
import type { ChatMessage, Prompt } from './prompts/prompt.ts';
import { groupStreams } from './sequences.ts';
import type { InferRequest, PreparedRequest, RequestSet, SendOutcome, Transport } from './types.ts';

/** One pass through a stream of turns. */
interface Running {
  readonly turns: readonly InferRequest[];
  /** Turns sent so far. */
  sent: number;
  /** All messages so far, answers included. */
  history: readonly ChatMessage[];
  /** Tokens of the history; null if they were not counted. */
  historyTokens: number | null;
  /** The time when the user is ready for the next turn. */
  readyNs: number;
}

/**
 * Turns a load generator's requests into conversations: every request becomes the next turn of a
 * conversation whose user is ready, preceded by its history with the model's real answers. If no
 * user is ready, a new conversation begins. So the number of requests in flight follows the load
 * level, with as many conversations as that takes. A failed turn ends its conversation. Streams of
 * the set take turns; each thread has its own streams.
 */
export class Conversations<P extends PreparedRequest> implements Transport<PreparedRequest> {
  readonly #transport: Transport<P>;
  readonly #clock: Clock;
  readonly #streams: readonly (readonly InferRequest[])[];
  readonly #part: Part;
  /** With nothing in flight, ordered by when their users are ready. */
  readonly #waiting: Running[] = [];
  #opened = 0;

  constructor(transport: Transport<P>, set: RequestSet, clock: Clock, part: Part = whole) {
    this.#transport = transport;
    this.#clock = clock;
    this.#streams = groupStreams(set);
    this.#part = part;
  }

  /** Conversations that are waiting for their user. */
  get waiting(): number {
    return this.#waiting.length;
  }

  prepare(request: InferRequest): PreparedRequest {
    return { request };
  }

  /** Sends the next turn of some conversation, whichever request was prepared. */
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
