import { formatMessage } from '#base/errors.ts';
import type { BodyReader } from '../transports/http1-response-parser.ts';
import { badStatus, failed } from '../transports/outcome.ts';
import type { SendFailure, SendOutcome } from '../types.ts';
import { ReplyTiming } from './reply-timing.ts';
import type { EventFormat } from './stream-event.ts';

/** Far above the JSON of a reply of 100,000 tokens. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Reads the replies of one connection that come whole, as one JSON: their texts and the server's
 * token counts. They have no first token, only an end.
 */
export class WholeReply implements BodyReader {
  readonly #format: EventFormat;
  readonly #timing: ReplyTiming;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #nowNs = 0;

  constructor(format: EventFormat) {
    this.#format = format;
    this.#timing = new ReplyTiming(format.addsTokens);
  }

  begin(sentNs: number, keepsText: boolean): void {
    this.#timing.begin(sentNs, keepsText);
    this.#pieces.length = 0;
    this.#bytes = 0;
  }

  heard(nowNs: number): void {
    this.#nowNs = nowNs;
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.#bytes += end - start;
    if (this.#bytes <= MAX_BYTES) this.#pieces.push(Buffer.from(bytes.subarray(start, end)));
  }

  outcome(): SendOutcome {
    if (this.#bytes > MAX_BYTES) return failed('malformed', `the reply has more than ${MAX_BYTES} bytes`);
    try {
      const event = this.#format.read(JSON.parse(Buffer.concat(this.#pieces).toString('utf8')));
      if (event.error !== undefined) return badStatus('REPLY_ERROR', event.error);
      this.#timing.take(event, this.#nowNs);
      return this.#timing.wholeOutcome();
    } catch (error) {
      return failed('malformed', `the reply is not JSON: ${formatMessage(error)}`);
    }
  }

  lost(message: string): SendFailure {
    return failed('cut-off', `the reply was cut off: ${message}`);
  }
}
