import { realClock } from '#base/clock.ts';
import { msToNs } from '#base/units.ts';
import { splitAuthority } from '#triton/wire/authority.ts';
import type { SendFailure, SendOutcome, TransportOptions } from '../types.ts';
import { sweepPeriodMs } from './deadlines.ts';
import type { UnaryCall } from './h2-call.ts';
import { Connection, type ConnectionOptions, type ConnectionOwner } from './h2-connection.ts';
import { timedOut } from './outcome.ts';
import { TimedSample, withTimes } from './request-timer.ts';
import { createEndpoint } from './socket.ts';

export interface LeanOptions extends TransportOptions {
  /**
   * Connections to spread the requests over; 1 if absent. More are opened if the server limits
   * their streams.
   */
  readonly connections?: number;
  /** First stream id of each connection, for tests of running out of ids; 1 if absent. */
  readonly firstStreamId?: number;
}

/** Callbacks of the connections. */
export interface CallOwner {
  /** Called when the call is over; it may be reused at once. */
  settle(call: UnaryCall, outcome: SendOutcome): void;
  /** Called when the connection takes no more calls; it closes once its calls are over. */
  leaving(connection: Connection): void;
}

/** Beyond this number of connections, calls wait. */
const MAX_CONNECTIONS = 64;
/** Minimum time between two connection attempts to a failing server. */
const RECONNECT_MS = 50;

/**
 * The HTTP/2 connections of one transport: finds room for calls, and ends those whose time is up.
 */
export class Connections implements ConnectionOwner {
  readonly #owner: CallOwner;
  readonly #options: ConnectionOptions;
  readonly #timeoutNs: number;
  readonly #timedOut: SendFailure;
  readonly #wanted: number;
  readonly #sample: TimedSample | undefined;
  readonly #connections: Connection[] = [];
  /** Calls that have no connection with room, oldest first. */
  #waiting = new Set<UnaryCall>();
  readonly #sweeper: NodeJS.Timeout;
  #reconnect: NodeJS.Timeout | undefined;
  /** True after a failed connection, until one answers. */
  #letDown = false;
  #open = true;

  /** `path` is the method of every call. Errors: USAGE for a bad address. */
  constructor(options: LeanOptions, path: string, owner: CallOwner) {
    this.#owner = owner;
    this.#options = connectionOptions(options, path);
    this.#timeoutNs = msToNs(options.timeoutMs);
    this.#timedOut = timedOut(options.timeoutMs);
    this.#wanted = options.connections ?? 1;
    this.#sample = options.timesRequests ? new TimedSample() : undefined;
    this.#sweeper = setInterval(() => this.#sweep(), sweepPeriodMs(options.timeoutMs));
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Starts a call with this body. */
  begin(call: UnaryCall, body: Buffer, done: (outcome: SendOutcome) => void): void {
    const nowNs = realClock.nowNs();
    call.begin(body, done, nowNs + this.#timeoutNs, this.#sample?.next(nowNs));
  }

  /** Sends the call now, or as soon as a connection has room. */
  start(call: UnaryCall): void {
    const connection = this.#waiting.size === 0 ? this.#roomiest() : undefined;
    if (connection) {
      connection.start(call);
    } else {
      this.#waiting.add(call);
      this.#connect();
    }
  }

  /** Ends every call with `why`. */
  close(why: SendFailure): void {
    this.#open = false;
    clearInterval(this.#sweeper);
    clearTimeout(this.#reconnect);
    for (const connection of [...this.#connections]) connection.close(why);
    this.#failWaiting(why);
  }

  roomy(connection: Connection): void {
    if (this.#waiting.size === 0) return;
    for (const call of this.#waiting) {
      if (!connection.hasRoom) break;
      this.#waiting.delete(call);
      connection.start(call);
    }
    if (this.#waiting.size > 0) this.#connect();
  }

  settle(call: UnaryCall, outcome: SendOutcome): void {
    this.#owner.settle(call, call.timer ? withTimes(outcome, call.timer) : outcome);
  }

  turnedAway(connection: Connection, calls: readonly UnaryCall[]): void {
    this.#owner.leaving(connection);
    this.#waiting = new Set([...calls, ...this.#waiting]);
    if (this.#waiting.size > 0) this.#connect();
  }

  gone(connection: Connection, why: SendFailure): void {
    this.#connections.splice(this.#connections.indexOf(connection), 1);
    if (!this.#open) return;
    this.#letDown = connection.answered === 0;
    if (!connection.wasReady && !this.#connections.some((other) => other.isUsable)) this.#failWaiting(why);
    else if (this.#waiting.size > 0) this.#connect();
  }

  /** Returns the connection with the fewest calls among those with room. */
  #roomiest(): Connection | undefined {
    let best: Connection | undefined;
    for (const connection of this.#connections) {
      if (connection.hasRoom && (!best || connection.inFlight < best.inFlight)) best = connection;
    }
    return best;
  }

  /** Opens connections for waiting calls: one at a time beyond those that are wanted anyway. */
  #connect(): void {
    if (!this.#open || this.#reconnect) return;
    if (this.#letDown) {
      this.#letDown = false;
      this.#reconnect = setTimeout(() => {
        this.#reconnect = undefined;
        this.#connect();
      }, RECONNECT_MS);
      return;
    }
    const usable = this.#connections.filter((connection) => connection.isUsable);
    // A connection in progress will take the waiting calls; an idle connection without room is no
    // reason for another one.
    const enough = usable.some((connection) => connection.isConnecting || connection.inFlight === 0);
    const missing = Math.max(this.#wanted - usable.length, enough ? 0 : 1);
    for (let count = Math.min(missing, MAX_CONNECTIONS - this.#connections.length); count > 0; count--) {
      this.#connections.push(new Connection(this.#options, this, realClock.nowNs()));
    }
  }

  #sweep(): void {
    const nowNs = realClock.nowNs();
    for (const call of this.#waiting) {
      if (call.dueNs > nowNs) continue;
      this.#waiting.delete(call);
      this.settle(call, this.#timedOut);
    }
    for (const connection of [...this.#connections]) connection.expire(nowNs, this.#timeoutNs, this.#timedOut);
  }

  #failWaiting(why: SendFailure): void {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const call of calls) this.settle(call, why);
  }
}

function connectionOptions(
  { url, tls, compression, firstStreamId = 1, headers: stated = [], gate }: LeanOptions,
  path: string,
): ConnectionOptions {
  const { authority = url, others: more } = splitAuthority(stated);
  const headers = [
    [':method', 'POST'],
    [':scheme', tls ? 'https' : 'http'],
    [':path', path],
    [':authority', authority],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...(more.some(({ name }) => name === 'user-agent') ? [] : [['user-agent', 'tritune'] as const]),
    ...(compression ? [['grpc-encoding', compression] as const] : []),
    ...more.map(({ name, value }) => [name, value] as const),
  ] as const;
  return { endpoint: createEndpoint(url, tls, 'h2', gate), headers, firstStreamId };
}
