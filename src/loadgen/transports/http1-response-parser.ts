import type { SendFailure, SendOutcome } from '../types.ts';
import { MalformedResponse, parseResponseHead, type ResponseHead } from './http1-response-head.ts';

/** The maximum length of a head, a chunk's size line or the trailers. */
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_SIZE_LINE_BYTES = 1024;
/** Bytes of a failed call's body to keep for its message. */
const MAX_ERROR_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';
/**
 * Some servers end lines with a bare line feed, which clients may accept (RFC 9112, section 2.2).
 */
const HEAD_END_ANY = /\r?\n\r?\n/g;
/**
 * A head up to its usual end that contains an earlier end of bare line feeds: the head must be the
 * same however its bytes are divided.
 */
const ENDS_SOONER = /\n(?:\r?\n|$)/;
const LF = 0x0a;
const CR = 0x0d;
/** The number of digits in a chunk size that are certainly exact. */
const MAX_PLAIN_DIGITS = 8;

type State = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done';

/** Reads the bodies of one connection's good replies as they arrive. */
export interface BodyReader {
  /** Starts with the sending of a request; `keepsText` if the text of the reply is wanted. */
  begin(sentNs: number, keepsText: boolean): void;
  /** Reports when the bytes of the next push were read from the socket. */
  heard(nowNs: number): void;
  /** Takes bytes of the body without framing; they are valid only until it returns. */
  push(bytes: Buffer, start: number, end: number): void;
  /** Returns the outcome of a good reply whose framing has ended. */
  outcome(): SendOutcome;
  /** Returns the outcome of a good reply that ended with the loss of the connection. */
  lost(message: string): SendFailure;
}

export interface ParserRule {
  /** True to keep the bodies of replies that are not good. */
  readonly keepsErrors?: boolean;
  /**
   * Makes the reader of good replies' bodies, once per connection; if absent, they are not read.
   */
  readonly bodyReader?: () => BodyReader;
  /** True if replies end with their head, whatever it says about a body: those to HEAD. */
  readonly isBodiless?: boolean;
}

/**
 * Reads one response after another from the bytes of a connection. Keeps at most a failure's
 * message of the body.
 */
export class ResponseParser {
  readonly #rule: ParserRule;
  /** Undefined if bodies are not read. */
  readonly body: BodyReader | undefined;
  #state: State = 'head';
  /** Bytes of the current head or line that arrived in earlier chunks. */
  #kept = '';
  #head: ResponseHead | undefined;
  /** Bytes of the body, or of its chunk, that are still missing. */
  #left = 0;
  #errorBody: Buffer[] = [];
  #errorBytes = 0;
  #bodyBytes = 0;

  constructor(rule: ParserRule) {
    this.#rule = rule;
    this.body = rule.bodyReader?.();
  }

  /** Status of the current or last response. */
  get statusCode(): number {
    return this.#head?.statusCode ?? 0;
  }

  get isGood(): boolean {
    return this.statusCode >= 200 && this.statusCode < 300;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** True between the head of a response and its end. */
  get isInBody(): boolean {
    return this.#state !== 'head' && this.#state !== 'done';
  }

  /** True if the connection may be reused after this response. */
  get keepsAlive(): boolean {
    if (this.#state !== 'done' || this.#head?.wantsToStay !== true) return false;
    return this.#rule.isBodiless === true || this.#head.framing !== 'until-close';
  }

  /** Bytes of the body without framing. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** The body of a response that is not good, cut to what a message needs; '' if none is kept. */
  get errorBody(): string {
    return Buffer.concat(this.#errorBody).toString('utf8');
  }

  /** Prepares for the next response. */
  next(): void {
    this.#state = 'head';
    this.#kept = '';
    if (this.#errorBytes > 0) this.#errorBody = [];
    this.#errorBytes = 0;
    this.#bodyBytes = 0;
  }

  /**
   * Takes bytes and returns where it stopped, which is before `end` only if the response is done.
   * Errors: MalformedResponse.
   */
  push(chunk: Buffer, end: number): number {
    let at = 0;
    while (at < end && this.#state !== 'done') at = this.#step(chunk, at, end);
    return at;
  }

  /** Handles the peer's close. True if that ends the response in order. */
  close(): boolean {
    if (this.#state === 'until-close') this.#state = 'done';
    return this.#state === 'done';
  }

  #step(chunk: Buffer, at: number, end: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(chunk, at, end);
      case 'length':
      case 'chunk':
        return this.#readBody(chunk, at, Math.min(end, at + this.#left));
      case 'until-close':
        this.#note(chunk, at, end);
        return end;
      default:
        return this.#readLine(chunk, at, end);
    }
  }

  #readHead(chunk: Buffer, at: number, end: number): number {
    // If the end spans two chunks, it is found in the kept and the new bytes together.
    const headEnd = this.#kept === '' ? chunk.indexOf(HEAD_END, at, 'latin1') : -1;
    if (headEnd >= 0 && headEnd + HEAD_END.length <= end) {
      const text = chunk.toString('latin1', at, headEnd);
      if (this.#head?.text === text || !ENDS_SOONER.test(text)) {
        this.#begin(text);
        return headEnd + HEAD_END.length;
      }
    }
    const before = this.#kept.length;
    this.#kept += chunk.toString('latin1', at, end);
    HEAD_END_ANY.lastIndex = Math.max(0, before - HEAD_END.length);
    const across = HEAD_END_ANY.exec(this.#kept);
    if (across === null) {
      const beginning = 'HTTP/1.'.slice(0, this.#kept.length);
      if (!this.#kept.startsWith(beginning))
        throw new MalformedResponse(`the answer is not HTTP/1: ${excerpt(this.#kept)}`);
      if (this.#kept.length > MAX_HEAD_BYTES) throw new MalformedResponse('the head of the response does not end');
      return end;
    }
    const head = this.#kept.slice(0, across.index);
    this.#kept = '';
    this.#begin(head);
    return at + HEAD_END_ANY.lastIndex - before;
  }

  #begin(text: string): void {
    // Almost always equal to the previous head: the same text has the same meaning.
    if (this.#head?.text !== text) this.#head = parseResponseHead(text);
    const { statusCode, framing, contentLength } = this.#head;
    if (statusCode < 200) {
      if (statusCode === 101) throw new MalformedResponse('the server switches protocols though nobody asked it to');
      return;
    }
    this.#left = contentLength;
    if (this.#rule.isBodiless) this.#state = 'done';
    else if (framing === 'chunked') this.#state = 'chunk-size';
    else if (framing === 'until-close') this.#state = 'until-close';
    else this.#state = contentLength === 0 ? 'done' : 'length';
  }

  #readBody(chunk: Buffer, at: number, end: number): number {
    this.#note(chunk, at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunk-end' : 'done';
    return end;
  }

  /** Reads a line of a chunked body: the size of a chunk, the empty line after it, or a trailer. */
  #readLine(chunk: Buffer, at: number, end: number): number {
    const plain = this.#kept === '' ? this.#readPlainLine(chunk, at, end) : -1;
    if (plain >= 0) return plain;
    const index = chunk.indexOf(LF, at);
    const lineEnd = index >= 0 && index < end ? index + 1 : end;
    this.#kept += chunk.toString('latin1', at, lineEnd);
    if (this.#kept.length > MAX_SIZE_LINE_BYTES) throw new MalformedResponse('a line of a chunked body does not end');
    if (!this.#kept.endsWith('\n')) return lineEnd;
    const line = this.#kept.replace(/\r?\n$/, '');
    this.#kept = '';
    if (this.#state === 'chunk-size') {
      const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw new MalformedResponse(`no size of a chunk: ${excerpt(line)}`);
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    } else if (this.#state === 'chunk-end') {
      if (line !== '') throw new MalformedResponse('a chunk is longer than it says');
      this.#state = 'chunk-size';
    } else if (line === '') {
      this.#state = 'done';
    }
    return lineEnd;
  }

  /**
   * The same for a line in its usual form, which a stream of small chunks has twice per chunk; -1
   * for any other line.
   */
  #readPlainLine(chunk: Buffer, start: number, end: number): number {
    let at = start;
    if (this.#state === 'chunk-size') {
      let size = 0;
      for (let digit = hexDigit(chunk[at]); digit >= 0 && at < end; digit = hexDigit(chunk[++at]))
        size = size * 16 + digit;
      if (at === start || at - start > MAX_PLAIN_DIGITS || size === 0 || !isLineEnd(chunk, at, end)) return -1;
      this.#left = size;
      this.#state = 'chunk';
      return at + 2;
    }
    if (this.#state !== 'chunk-end' || !isLineEnd(chunk, at, end)) return -1;
    this.#state = 'chunk-size';
    return at + 2;
  }

  #note(chunk: Buffer, at: number, end: number): void {
    this.#bodyBytes += end - at;
    if (this.body !== undefined && this.isGood) this.body.push(chunk, at, end);
    if (!this.#rule.keepsErrors || this.isGood || this.#errorBytes >= MAX_ERROR_BYTES) return;
    this.#errorBody.push(Buffer.from(chunk.subarray(at, end)));
    this.#errorBytes += end - at;
  }
}

const isLineEnd = (chunk: Buffer, at: number, end: number): boolean =>
  at + 1 < end && chunk[at] === CR && chunk[at + 1] === LF;

/** Returns -1 for any other character. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
