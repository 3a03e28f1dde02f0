import { realClock } from '#base/clock.ts';
import { msToNs } from '#base/units.ts';
import type { SendFailure, SendOutcome } from '../types.ts';
import { sweepPeriodMs } from './deadlines.ts';
import { Http1Connection, type Http1Owner, type ReplyRule } from './http1-connection.ts';
import { CLOSED, timedOut } from './outcome.ts';
import { TimedSample } from './request-timer.ts';
import type { Endpoint } from './socket.ts';

/**
 * A server may close an idle connection just when we reuse it. Common servers wait for two seconds
 * or more, so we reuse none that is older.
 */
const MAX_IDLE_MS = 1500;
/** Time for which new connections are delayed after one was refused. */
const RECONNECT_MS = 50;

/** The connections to one server: one per request in flight, reused. */
export class Http1Connections implements Http1Owner {
  readonly #endpoint: Endpoint;
  readonly #rule: ReplyRule;
  readonly #sample: TimedSample | undefined;
  readonly #timeoutNs: number;
  readonly #timedOut: SendFailure;
  readonly #connections = new Set<Http1Connection>();
  /** Used last in, first out, so that surplus connections grow old. */
  readonly #idle: Http1Connection[] = [];
  readonly #sweeper: NodeJS.Timeout;
  #refusedNs = Number.NEGATIVE_INFINITY;
  #open = true;

  constructor(endpoint: Endpoint, timeoutMs: number, rule: ReplyRule) {
    this.#endpoint = endpoint;
    this.#rule = rule;
    this.#sample = rule.timesRequests ? new TimedSample() : undefined;
    this.#timeoutNs = msToNs(timeoutMs);
    this.#timedOut = timedOut(timeoutMs);
    this.#sweeper = setInterval(() => this.#sweep(), sweepPeriodMs(timeoutMs));
  }

  /**
   * Sends a whole request, head and body. `done` as in `RequestSender.send`, `keepsText` as in
   * `BodyReader.begin`.
   */
  send(bytes: Buffer, done: (outcome: SendOutcome) => void, keepsText = false): void {
    if (!this.#open) {
      done(CLOSED);
      return;
    }
    const nowNs = realClock.nowNs();
    const request = { done, sentNs: nowNs, dueNs: nowNs + this.#timeoutNs, keepsText };
    const timer = this.#sample?.next(nowNs);
    const connection = this.#idle.pop();
    if (connection && nowNs - connection.idleSinceNs < msToNs(MAX_IDLE_MS)) {
      connection.timer = timer;
      connection.send(bytes, request);
      return;
    }
    // The newest idle connection is too old, or there is none: so are all.
    for (const old of [...this.#idle, connection]) old?.close(CLOSED);
    const fresh = new Http1Connection(this, this.#rule);
    fresh.timer = timer;
    this.#connections.add(fresh);
    const isHeldBack = nowNs - this.#refusedNs < msToNs(RECONNECT_MS);
    fresh.open(this.#endpoint, bytes, request, isHeldBack ? RECONNECT_MS : 0);
  }

  /** Ends every request in flight with a failure and closes the connections. */
  close(): void {
    this.#open = false;
    clearInterval(this.#sweeper);
    for (const connection of [...this.#connections]) connection.close(CLOSED);
  }

  idle(connection: Http1Connection): void {
    connection.idleSinceNs = realClock.nowNs();
    this.#idle.push(connection);
  }

  gone(connection: Http1Connection, refused: boolean): void {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (refused) this.#refusedNs = realClock.nowNs();
  }

  #sweep(): void {
    const nowNs = realClock.nowNs();
    for (const connection of [...this.#connections]) connection.expire(nowNs, this.#timedOut);
  }
}
