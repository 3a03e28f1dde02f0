import type { Socket } from 'node:net';
import { realClock } from '#base/clock.ts';
import { afterWrite } from '#http2/frame-writer.ts';
import type { ClientTimes, SendFailure, SendOutcome } from '../types.ts';
import { MalformedResponse } from './http1-response-head.ts';
import { type ParserRule, ResponseParser } from './http1-response-parser.ts';
import { failed, socketMessage } from './outcome.ts';
import { RequestTimer, withTimes } from './request-timer.ts';
import { type Endpoint, openSocket } from './socket.ts';

const READ_BYTES = 64 * 1024;
/**
 * All connections read into one buffer: data is processed before the next read. Where the system
 * fills buffers in the background, each connection has its own.
 */
const shared = process.platform === 'win32' ? undefined : Buffer.allocUnsafeSlow(READ_BYTES);

/** Reads replies and turns them into outcomes. */
export interface ReplyRule extends ParserRule {
  /** Returns the outcome of a complete reply for its request. */
  readonly toOutcome: (reply: ResponseParser) => SendOutcome;
  /** False: each connection serves one request. */
  readonly keepsAlive?: boolean;
  /** Receives how long each part of each request takes. */
  readonly phases?: PhaseWatch;
  /** If true, the outcomes of a sample of the requests include their times. */
  readonly timesRequests?: boolean | undefined;
}

/** The parts of a request's time, in nanoseconds. */
export interface PhaseWatch {
  /** Time to resolve a name, for a new connection. */
  lookedUp(ns: number): void;
  /** Time until a new connection is ready, including name resolution and TLS. */
  connected(ns: number): void;
  /** From the writing of a request to the end of its reply. */
  replied(times: ClientTimes): void;
}

/** A request that a connection handles. */
export interface RequestInFlight {
  /** As in `RequestSender.send`. */
  readonly done: (outcome: SendOutcome) => void;
  readonly sentNs: number;
  /** The time when it fails. */
  readonly dueNs: number;
  /** As in `BodyReader.begin`. */
  readonly keepsText: boolean;
}

/** Callbacks of a connection. */
export interface Http1Owner {
  /**
   * Called when the connection is ready for another request. The outcome of the previous one
   * follows.
   */
  idle(connection: Http1Connection): void;
  /** Called when the connection is lost. The outcome of its request, if it had one, follows. */
  gone(connection: Http1Connection, refused: boolean): void;
}

/** One HTTP/1.1 connection, with one request at a time. It never throws. */
export class Http1Connection {
  readonly #owner: Http1Owner;
  readonly #rule: ReplyRule;
  readonly #parser: ResponseParser;
  #socket: Socket | undefined;
  #done: ((outcome: SendOutcome) => void) | undefined;
  #dueNs = 0;
  #connected = false;
  #gone = false;
  /**
   * Times the current request; undefined if that is not needed, in which case the clock is not
   * read.
   */
  timer: RequestTimer | undefined;
  /** The time since which it has been idle, on the owner's clock. */
  idleSinceNs = 0;

  constructor(owner: Http1Owner, rule: ReplyRule) {
    this.#owner = owner;
    this.#rule = rule;
    this.#parser = new ResponseParser(rule);
  }

  /** Sends the first request over a new socket, which is opened after `delayMs`. */
  open(endpoint: Endpoint, bytes: Buffer, request: RequestInFlight, delayMs: number): void {
    this.#take(request);
    if (delayMs === 0) this.#connect(endpoint, bytes);
    else setTimeout(() => this.#connect(endpoint, bytes), delayMs);
  }

  /** Sends another request. Requires an idle connection. */
  send(bytes: Buffer, request: RequestInFlight): void {
    this.#take(request);
    this.#parser.next();
    if (this.#socket) this.#write(this.#socket, bytes);
  }

  #take({ done, sentNs, dueNs, keepsText }: RequestInFlight): void {
    this.#done = done;
    this.#dueNs = dueNs;
    this.#parser.body?.begin(sentNs, keepsText);
  }

  /**
   * Ends the request if it is due; this closes the connection, because nothing else can end the
   * request.
   */
  expire(nowNs: number, outcome: SendFailure): void {
    if (this.#done && this.#dueNs <= nowNs) this.close(outcome);
  }

  /** Ends the connection, and its request with `why`. */
  close(why: SendOutcome): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#socket?.destroy();
    const done = this.#done;
    this.#done = undefined;
    this.#owner.gone(this, !why.ok && why.kind === 'refused');
    done?.(why);
  }

  #connect(endpoint: Endpoint, bytes: Buffer): void {
    if (this.#gone) return;
    const buffer = shared ?? Buffer.allocUnsafeSlow(READ_BYTES);
    const onread = { buffer, callback: (count: number, chunk: Uint8Array) => this.#read(chunk as Buffer, count) };
    const { phases } = this.#rule;
    const startNs = phases ? realClock.nowNs() : 0;
    const socket = openSocket(endpoint, onread, () => {
      this.#connected = true;
      phases?.connected(realClock.nowNs() - startNs);
      this.#write(socket, bytes);
    });
    this.#socket = socket;
    if (phases) socket.once('lookup', () => phases.lookedUp(realClock.nowNs() - startNs));
    socket.on('error', (error) => this.#lose(socketMessage(error)));
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#lose('the connection was closed'));
  }

  #write(socket: Socket, bytes: Buffer): void {
    if (this.#rule.phases) this.timer = new RequestTimer(realClock.nowNs());
    socket.write(bytes);
    const { timer } = this;
    if (timer !== undefined) afterWrite(socket, () => timer.sent());
  }

  /** Handles the server's end of data, which is in order only if the body extends until then. */
  #end(): void {
    if (this.#done && this.#parser.close()) this.close(this.#outcome());
    else this.#lose('the server closed the connection');
  }

  #lose(message: string): void {
    const { body, isGood, isInBody } = this.#parser;
    if (body && isGood && isInBody) this.close(body.lost(message));
    else this.close(failed(this.#connected ? 'reset' : 'refused', message));
  }

  #read(chunk: Buffer, count: number): boolean {
    if (this.#gone) return false;
    if (!this.#done) {
      this.close(failed('malformed', 'the server speaks without being asked'));
      return false;
    }
    const { body } = this.#parser;
    if (body !== undefined || this.timer !== undefined) {
      const nowNs = realClock.nowNs();
      body?.heard(nowNs);
      this.timer?.heard(nowNs);
    }
    try {
      const end = this.#parser.push(chunk, count);
      if (this.#parser.isDone) this.#finish(end === count);
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      this.close(failed('malformed', error.message));
    }
    return true;
  }

  /**
   * Handles a whole response; `inOrder` if nothing followed it. A response that arrived before the
   * request was sent is not in order.
   */
  #finish(inOrder: boolean): void {
    const outcome = this.#outcome();
    if (!inOrder || !this.#parser.keepsAlive || this.#rule.keepsAlive === false || this.#socket?.writableLength !== 0) {
      this.close(outcome);
      return;
    }
    const done = this.#done;
    this.#done = undefined;
    this.#owner.idle(this);
    done?.(outcome);
  }

  #outcome(): SendOutcome {
    const { phases, toOutcome } = this.#rule;
    const { body, isGood } = this.#parser;
    if (body && isGood) return withTimes(body.outcome(), this.timer);
    if (!phases) return withTimes(toOutcome(this.#parser), this.timer);
    if (this.timer) phases.replied(this.timer.times());
    return toOutcome(this.#parser);
  }
}
