import type { Clock } from '#base/clock.ts';
import { type Random, seededRandom } from '#base/random.ts';
import { computePiece, type Part } from './paced-part.ts';
import { Rest } from './rest.ts';
import type {
  InferRequest,
  PreparedRequest,
  RequestParameter,
  RequestSet,
  SendFailure,
  SendOutcome,
  Transport,
} from './types.ts';

export interface SequenceRule {
  /**
   * Mean number of requests in a sequence; if absent, a sequence is as long as its stream. Longer
   * sequences repeat the stream.
   */
  readonly length?: number | undefined;
  /** Share of `length` by which lengths vary up or down, uniformly. */
  readonly variation: number;
  /** Range of correlation ids, inclusive; 0 is not an id. */
  readonly ids: { readonly low: number; readonly high: number };
  /** True for a model that takes correlation ids as texts: a number's digits. */
  readonly asText?: boolean | undefined;
  readonly seed: number;
  /** Number of the stream that the first sequence uses; 0 if absent. */
  readonly firstStream?: number;
}

/**
 * Returns the rule for one of several threads: with its own ids, other lengths, and a different
 * first stream.
 */
export const partOfRule = (rule: SequenceRule, part: Part): SequenceRule => ({
  ...rule,
  ids: computePiece(rule.ids, part),
  seed: rule.seed + part.index,
  firstStream: part.index,
});

interface Sequence {
  readonly id: number;
  readonly stream: readonly InferRequest[];
  readonly length: number;
  /** Requests of this sequence sent so far; 0 again after a failed request restarts it. */
  sent: number;
}

const NO_ID: SendFailure = Object.freeze({
  ok: false,
  kind: 'refused',
  message: 'there is no free sequence id: more requests are in flight than the range of ids has',
});

/**
 * Turns a load generator's requests into sequences, for models that keep state between requests.
 * Every request gets the correlation id and the flags of a sequence with nothing in flight, so each
 * sequence sends one request at a time and there are as many sequences as requests in flight.
 * Streams take turns. No two live sequences share an id. After a failed request its sequence
 * restarts under the same id, which makes Triton end the earlier one.
 */
export class Sequences<P extends PreparedRequest> implements Transport<PreparedRequest> {
  readonly #transport: Transport<P>;
  readonly #streams: readonly (readonly InferRequest[])[];
  readonly #rule: SequenceRule;
  readonly #random: Random;
  /**
   * With nothing in flight; the longest waiting comes first, because a server forgets idle
   * sequences.
   */
  readonly #idle: Sequence[] = [];
  readonly #liveIds = new Set<number>();
  #lastId: number;
  #opened: number;
  #finishing = false;
  readonly #rest = new Rest();

  constructor(transport: Transport<P>, set: RequestSet, rule: SequenceRule) {
    this.#transport = transport;
    this.#streams = groupStreams(set);
    this.#rule = rule;
    this.#random = seededRandom(rule.seed);
    this.#lastId = rule.ids.high;
    this.#opened = rule.firstStream ?? 0;
  }

  /** Sequences that have begun and not yet ended. */
  get live(): number {
    return this.#liveIds.size;
  }

  prepare(request: InferRequest): PreparedRequest {
    return { request };
  }

  /** Sends the next request of some sequence, whichever request was prepared. */
  send(_: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    const sequence = this.#idle.shift() ?? this.#open();
    if (sequence) this.#advance(sequence, sequence.sent + 1 === sequence.length, done);
    else done(NO_ID);
  }

  /**
   * Ends every sequence with one more request as soon as it has nothing in flight, and waits up to
   * `limitMs`. Requests in flight may be waiting on the server for a sequence to end, so call this
   * during the wait for them, not after it.
   */
  async finish(limitMs: number, clock: Clock): Promise<void> {
    this.#finishing = true;
    for (const sequence of this.#idle.splice(0)) this.#end(sequence);
    if (this.#liveIds.size > 0) await this.#rest.within(limitMs, clock);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #open(): Sequence | null {
    const id = this.#freeId();
    if (id === null) return null;
    const stream = this.#streams[this.#opened++ % this.#streams.length] as readonly InferRequest[];
    this.#liveIds.add(id);
    return { id, stream, length: this.#length(stream), sent: 0 };
  }

  #freeId(): number | null {
    const { low, high } = this.#rule.ids;
    if (this.#liveIds.size > high - low) return null;
    do this.#lastId = this.#lastId >= high ? low : this.#lastId + 1;
    while (this.#liveIds.has(this.#lastId));
    return this.#lastId;
  }

  #length(stream: readonly InferRequest[]): number {
    const { length, variation } = this.#rule;
    if (length === undefined) return stream.length;
    return Math.max(1, Math.round(length * (1 + variation * (2 * this.#random.float() - 1))));
  }

  #advance(sequence: Sequence, isLast: boolean, done: (outcome: SendOutcome) => void): void {
    const isFirst = sequence.sent === 0;
    const { stream, sent } = sequence;
    const step = stream[sent % stream.length] as InferRequest;
    // Outputs depend on the requests before, so those of a step are known only the first time.
    const request = sent < stream.length ? step : { ...step, expected: undefined };
    sequence.sent++;
    this.#transport.send(
      this.#transport.prepare(inSequence(request, this.#idParameter(sequence.id), isFirst, isLast)),
      (outcome) => {
        if (!outcome.ok) sequence.sent = 0;
        if (isLast) this.#liveIds.delete(sequence.id);
        else if (this.#finishing) this.#end(sequence);
        else this.#idle.push(sequence);
        done(isLast && outcome.ok ? { ...outcome, endsSequence: true } : outcome);
        if (this.#finishing && this.#liveIds.size === 0) this.#rest.reach();
      },
    );
  }

  #idParameter(id: number): RequestParameter {
    const name = 'sequence_id';
    return this.#rule.asText === true ? { name, type: 'string', value: String(id) } : { name, type: 'int', value: id };
  }

  #end(sequence: Sequence): void {
    this.#advance(sequence, true, () => undefined);
  }
}

/** Triton takes the control values of a sequence as request parameters, over both protocols. */
function inSequence(request: InferRequest, id: RequestParameter, isFirst: boolean, isLast: boolean): InferRequest {
  return {
    ...request,
    parameters: [
      ...(request.parameters ?? []),
      id,
      { name: 'sequence_start', type: 'bool', value: isFirst },
      { name: 'sequence_end', type: 'bool', value: isLast },
    ],
  };
}

/** Returns the requests of each stream of the set. */
export function groupStreams({
  requests,
  streamLengths = [requests.length],
}: RequestSet): readonly (readonly InferRequest[])[] {
  let at = 0;
  return streamLengths.map((length) => {
    at += length;
    return requests.slice(at - length, at);
  });
}
