import { formatMessage } from '#base/errors.ts';
import type { BodyReader } from '../transports/http1-response-parser.ts';
import { badStatus, failed } from '../transports/outcome.ts';
import type { SendFailure, SendOutcome } from '../types.ts';
import { EventLines } from './event-lines.ts';
import { EventTemplate } from './event-template.ts';
import { ReplyTiming } from './reply-timing.ts';
import type { EventFormat, StreamEvent } from './stream-event.ts';

/** The end of an OpenAI stream. */
const DONE = Buffer.from('[DONE]', 'latin1');
const LF = '\n';
/**
 * Making a template costs a proof. After this many consecutive ones that match no event, events are
 * only parsed for a while.
 */
const MAX_USELESS = 4;
/** A template is tried again after this many parsed events. */
const TRIED_AGAIN = 256;
/** Errors within a stream come without a status code. */
const STREAM_ERROR = 'STREAM_ERROR';

/**
 * Reads the streamed replies of one connection: when each piece arrived, and the server's token
 * counts.
 */
export class EventStreamReply implements BodyReader {
  readonly #format: EventFormat;
  readonly #timing: ReplyTiming;
  readonly #lines = new EventLines((bytes, start, end) => this.#data(bytes, start, end));
  #template: EventTemplate | null = null;
  #isTemplateUsed = false;
  #useless = 0;
  #parsed = 0;
  #nowNs = 0;
  #events = 0;
  #isEnded = false;
  /** If true, every event is parsed. */
  #keepsText = false;
  #failure: SendFailure | null = null;

  constructor(format: EventFormat) {
    this.#format = format;
    this.#timing = new ReplyTiming(format.addsTokens);
  }

  begin(sentNs: number, keepsText: boolean): void {
    this.#timing.begin(sentNs, keepsText);
    this.#keepsText = keepsText;
    this.#lines.reset();
    this.#events = 0;
    this.#isEnded = false;
    this.#failure = null;
  }

  heard(nowNs: number): void {
    this.#nowNs = nowNs;
  }

  push(bytes: Buffer, start: number, end: number): void {
    if (this.#failure) return;
    try {
      this.#lines.push(bytes, start, end);
    } catch (error) {
      this.#failure = failed('malformed', formatMessage(error));
    }
  }

  outcome(): SendOutcome {
    this.#lines.finish();
    if (this.#failure) return this.#failure;
    if (this.#events === 0) return failed('malformed', 'the reply is not a stream of events');
    if (this.#format.saysEnd && !this.#isEnded) return this.lost('the body ended');
    return this.#timing.outcome();
  }

  lost(message: string): SendFailure {
    if (this.#failure) return this.#failure;
    return failed('cut-off', `the stream was cut off${this.#timing.hasOutput ? ' in its output' : ''}: ${message}`);
  }

  /** Takes the data of one event. */
  #data(bytes: Buffer, start: number, end: number): void {
    if (this.#failure) return;
    this.#events++;
    if (!this.#keepsText && this.#template?.matches(bytes, start, end)) {
      this.#isTemplateUsed = true;
      this.#timing.take(this.#template.event, this.#nowNs);
    } else if (isDone(bytes, start, end)) this.#isEnded = true;
    else this.#parse(bytes.subarray(start, end));
  }

  #parse(bytes: Buffer): void {
    const text = bytes.toString('utf8');
    const whole = parsed(text);
    if (whole !== undefined) {
      const event = this.#format.read(whole);
      this.#take(event);
      if (event.output !== '' && !this.#keepsText && this.#isWorthTemplate()) this.#renewTemplate(bytes, event);
      return;
    }
    // Some servers leave out the empty lines between events.
    const lines = text.split(LF);
    for (const line of lines) {
      // Gateways keep a connection open with events without data.
      if (line.trim() === '') continue;
      const each = lines.length > 1 ? parsed(line) : undefined;
      if (each !== undefined) this.#take(this.#format.read(each));
      else if (line === DONE.toString('latin1')) this.#isEnded = true;
      else this.#failure ??= failed('malformed', `an event is not JSON: ${JSON.stringify(line.slice(0, 40))}`);
    }
  }

  #take(event: StreamEvent): void {
    this.#timing.take(event, this.#nowNs);
    this.#isEnded ||= event.isEnd;
    if (event.error !== undefined) this.#failure ??= badStatus(STREAM_ERROR, event.error);
  }

  #isWorthTemplate(): boolean {
    this.#parsed++;
    if (this.#isTemplateUsed) this.#useless = 0;
    return this.#useless < MAX_USELESS || this.#parsed % TRIED_AGAIN === 0;
  }

  /** Events that end the stream or hold an error do not become the template. */
  #renewTemplate(bytes: Buffer, event: StreamEvent): void {
    if (event.isEnd || event.error !== undefined) return;
    this.#useless++;
    this.#isTemplateUsed = false;
    // The event's words are not kept: a template stands for any words.
    this.#template = EventTemplate.of(bytes, { ...event, output: ' ', answer: '' }, this.#format);
  }
}

const isDone = (bytes: Buffer, start: number, end: number): boolean =>
  end - start === DONE.length && bytes.compare(DONE, 0, DONE.length, start, end) === 0;

/** undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
