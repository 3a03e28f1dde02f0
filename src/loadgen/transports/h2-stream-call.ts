import { formatMessage } from '#base/errors.ts';
import type { SendOutcome } from '../types.ts';
import { PREFIX_BYTES, UnaryCall } from './h2-call.ts';
import { badStatus, failed } from './outcome.ts';
import { PlainReplies, type StreamReplies, type StreamReply } from './stream-reply.ts';

const NOTHING = Buffer.alloc(0);
/**
 * The maximum size of a message that arrives in pieces, which is kept until it is whole. Outputs of
 * a stream are far smaller.
 */
const MAX_MESSAGE_BYTES = 2 ** 29;

/**
 * One long-lived stream of ModelStreamInfer with one request at a time: each ends with its final
 * response, and then the stream may carry another. So replies need not be told apart, and none
 * waits for another.
 */
export class StreamCall extends UnaryCall {
  override readonly endsStream = false;
  /** Called when a request has ended while its stream continues. */
  readonly #replied: (call: StreamCall, outcome: SendOutcome) => void;
  readonly #replies: StreamReplies;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  /** A message in several pieces: the bytes so far, and the number still missing. */
  #kept = NOTHING;
  #keptBytes = 0;
  #missing = 0;

  constructor(replied: (call: StreamCall, outcome: SendOutcome) => void, replies: StreamReplies = new PlainReplies()) {
    super();
    this.#replied = replied;
    this.#replies = replies;
  }

  override begin(...request: Parameters<UnaryCall['begin']>): void {
    super.begin(...request);
    this.#replies.begin();
  }

  override onStream(streamId: number, window: number): void {
    super.onStream(streamId, window);
    this.#prefixBytes = 0;
    this.#kept = NOTHING;
    this.#keptBytes = 0;
    this.#missing = 0;
  }

  override data(bytes: Buffer, start: number, end: number): boolean {
    if (!this.isStarted) return false;
    const { streamId } = this;
    let at = start;
    // A reply may cause this stream to be given up; nobody needs the rest then.
    while (at < end && this.streamId === streamId) {
      if (this.#prefixBytes < PREFIX_BYTES) {
        this.#prefix[this.#prefixBytes++] = bytes[at++] as number;
        if (this.#prefixBytes < PREFIX_BYTES) continue;
        this.#missing = this.#prefix.readUInt32BE(1);
        if (this.#missing > MAX_MESSAGE_BYTES) {
          this.#giveUp(`a response of ${this.#missing} bytes is longer than is read from a stream`);
          return true;
        }
      }
      const taken = Math.min(this.#missing, end - at);
      this.#missing -= taken;
      if (this.#missing > 0) {
        this.#keep(bytes, at, at + taken);
      } else {
        this.#message(this.#joined(bytes.subarray(at, at + taken)));
      }
      at += taken;
    }
    return true;
  }

  override outcome(): SendOutcome {
    const outcome = super.outcome();
    if (outcome.ok || outcome.kind !== 'malformed') return outcome;
    return this.#replies.unfinished('the stream ended before the final response');
  }

  /** Returns the outcome of the request if the stream ended for this reason. */
  ended(outcome: SendOutcome): SendOutcome {
    return outcome.ok || outcome.kind !== 'reset' ? outcome : this.#replies.lost(outcome);
  }

  /**
   * Copies the bytes, because the read buffer is reused. The copy grows with what has arrived,
   * whatever length was announced.
   */
  #keep(bytes: Buffer, start: number, end: number): void {
    const needed = this.#keptBytes + end - start;
    if (needed > this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(2 * needed);
      this.#kept.copy(larger, 0, 0, this.#keptBytes);
      this.#kept = larger;
    }
    bytes.copy(this.#kept, this.#keptBytes, start, end);
    this.#keptBytes = needed;
  }

  #joined(last: Buffer): Buffer {
    if (this.#keptBytes === 0) return last;
    this.#keep(last, 0, last.length);
    const whole = this.#kept.subarray(0, this.#keptBytes);
    this.#kept = NOTHING;
    this.#keptBytes = 0;
    return whole;
  }

  #message(message: Buffer): void {
    this.#prefixBytes = 0;
    if (this.#prefix[0] !== 0) {
      this.#giveUp('the response is compressed though we did not ask for it');
      return;
    }
    let reply: StreamReply;
    try {
      reply = this.#replies.take(message);
    } catch (error) {
      this.#giveUp(`the response cannot be read: ${formatMessage(error)}`);
      return;
    }
    if (reply.error !== '') this.#replied(this, badStatus(STREAM_ERROR, reply.error));
    else if (reply.isFinal) this.#replied(this, this.#replies.outcome());
  }

  #giveUp(why: string): void {
    this.#replied(this, failed('malformed', why));
  }
}

/** Errors within a stream come without a status code. */
const STREAM_ERROR = 'STREAM_ERROR';
