import type { Socket } from 'node:net';
import type { SendFailure, SendOutcome } from '../../types.ts';
import { errorOfBody } from '../infer-http.ts';
import { badStatus, failed, SENT, socketMessage } from '../outcome.ts';
import { type Endpoint, openSocket } from '../socket.ts';
import { MalformedResponse } from './response-head.ts';
import { ResponseParser } from './response-parser.ts';

const READ_BYTES = 64 * 1024;
/**
 * All connections read into one buffer: what is read is looked at before anything else is. Where the system fills
 * buffers behind our back, each connection has its own.
 */
const shared = process.platform === 'win32' ? undefined : Buffer.allocUnsafeSlow(READ_BYTES);

/** What a connection tells the one who opened it. */
export interface Http1Owner {
  /** The connection is ready for another request. The outcome of the one before follows. */
  idle(connection: Http1Connection): void;
  /** It is lost. The outcome of its request, if it had one, follows. */
  gone(connection: Http1Connection, refused: boolean): void;
}

/** One HTTP/1.1 connection, with one request at a time. It never throws. */
export class Http1Connection {
  readonly #owner: Http1Owner;
  readonly #parser = new ResponseParser();
  #socket: Socket | undefined;
  #done: ((outcome: SendOutcome) => void) | undefined;
  #dueNs = 0;
  #connected = false;
  #gone = false;
  /** Since when it has had nothing to do, on the owner's clock. */
  idleSinceNs = 0;

  constructor(owner: Http1Owner) {
    this.#owner = owner;
  }

  /** Sends the first request, over a new socket that is opened after `delayMs`. */
  open(endpoint: Endpoint, bytes: Buffer, done: (outcome: SendOutcome) => void, dueNs: number, delayMs: number): void {
    this.#done = done;
    this.#dueNs = dueNs;
    if (delayMs === 0) this.#connect(endpoint, bytes);
    else setTimeout(() => this.#connect(endpoint, bytes), delayMs);
  }

  /** Sends another request. Only while idle. */
  send(bytes: Buffer, done: (outcome: SendOutcome) => void, dueNs: number): void {
    this.#done = done;
    this.#dueNs = dueNs;
    this.#parser.next();
    this.#socket?.write(bytes);
  }

  /** Ends the request if it is due: nothing else frees a connection from a request. */
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
    const socket = openSocket(endpoint, onread, () => {
      this.#connected = true;
      socket.write(bytes);
    });
    this.#socket = socket;
    socket.on('error', (error) => this.#lose(socketMessage(error)));
    socket.on('end', () => this.#lose('the server closed the connection'));
    socket.on('close', () => this.#lose('the connection was closed'));
  }

  #lose(message: string): void {
    if (this.#done && this.#parser.close()) this.close(this.#outcome());
    else this.close(failed(this.#connected ? 'reset' : 'refused', message));
  }

  #read(chunk: Buffer, count: number): boolean {
    if (this.#gone) return false;
    if (!this.#done) {
      this.close(failed('malformed', 'the server speaks without being asked'));
      return false;
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

  /** The response is whole; `inOrder` when nothing came behind it. One that came before the request was out is not. */
  #finish(inOrder: boolean): void {
    const outcome = this.#outcome();
    if (!inOrder || !this.#parser.keepsAlive || this.#socket?.writableLength !== 0) {
      this.close(outcome);
      return;
    }
    const done = this.#done;
    this.#done = undefined;
    this.#owner.idle(this);
    done?.(outcome);
  }

  #outcome(): SendOutcome {
    if (this.#parser.isGood) return SENT;
    return badStatus(String(this.#parser.statusCode), errorOfBody(this.#parser.errorBody));
  }
}
