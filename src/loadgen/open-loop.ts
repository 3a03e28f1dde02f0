import type { Alarm } from '#base/alarm.ts';
import type { Clock } from '#base/clock.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import type { Pacer } from './pacers.ts';
import type { Recorder } from './recorder.ts';
import type { RequestTurns } from './request-turns.ts';
import { Rest } from './rest.ts';
import type { RequestSender, SendOutcome } from './types.ts';

/** The maximum number of requests to send before looking at replies, however many are due. */
const SENDS_PER_TURN = 64;
/** A shorter wait is none: sums of times are no more exact. */
const SHORTEST_WAIT_NS = 1;

export interface OpenLoopRule {
  /**
   * The maximum number of requests in flight; a request that is due at the maximum is dropped for
   * good.
   */
  readonly maxInFlight: number;
  /** A request that is sent at least this long after its due time is late. */
  readonly lateNs: number;
}

export const defaultOpenLoopRule: OpenLoopRule = { maxInFlight: 4096, lateNs: 1e6 };

/** The outcome of the due requests. */
export class SendTally {
  sent = 0;
  late = 0;
  dropped = 0;
  /** Dropped requests by class index; empty without classes, or if none was dropped. */
  readonly droppedOf: number[] = [];
  /** From the due time to the sending, over sent requests. */
  readonly lateness = new LatencyHistogram();
  /** The same for each agent, by address; absent if no agent sends. */
  byAgent?: ReadonlyMap<string, SendTally>;
}

/** Limits the rate of a schedule that has bursts. */
export interface Throttle {
  /**
   * Returns 0 if a request may be sent now, whose place is then taken, or the nanoseconds after
   * which to try again. `overdueNs`: how long it has been due; `sent`: requests before it.
   */
  waitNs(overdueNs: number, sent: number): number;
}

interface Slot {
  dueNs: number;
  sentNs: number;
  classIndex: number;
  readonly done: (outcome: SendOutcome) => void;
}

/**
 * Sends requests at the pacer's times, whatever the replies do. Requests that came due while this
 * thread was delayed are sent at once, each with its due time. Nothing is sent before it is due,
 * and a due request is dropped only if too many are in flight. Latency is recorded from the sending
 * and from the due time; the latter includes the wait that a slow client adds, and shows a server's
 * stall in every request that was due during it.
 */
export class OpenLoop<P> {
  readonly #transport: RequestSender<P>;
  readonly #nextRequest: RequestTurns<P>['nextRequest'];
  readonly #classOf: RequestTurns<P>['classOf'];
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #pacer: Pacer;
  readonly #rule: OpenLoopRule;
  readonly #throttle: Throttle | undefined;
  readonly #free: Slot[] = [];
  readonly #rest = new Rest();
  #startNs = 0;
  #scheduled = 0;
  #sent = 0;
  #inFlight = 0;
  #mostInFlight = 0;
  #tally = new SendTally();
  #ended = false;

  constructor(
    target: RequestTurns<P> & { readonly transport: RequestSender<P>; readonly recorder: Recorder },
    time: { readonly clock: Clock; readonly alarm: Alarm },
    pacer: Pacer,
    rule: OpenLoopRule,
    throttle?: Throttle,
  ) {
    this.#transport = target.transport;
    this.#nextRequest = target.nextRequest;
    this.#classOf = target.classOf;
    this.#recorder = target.recorder;
    this.#clock = time.clock;
    this.#alarm = time.alarm;
    this.#pacer = pacer;
    this.#rule = rule;
    this.#throttle = throttle;
  }

  /** Requests sent since the start. */
  get sent(): number {
    return this.#sent;
  }

  /** Requests that were due since the start, sent or dropped. */
  get due(): number {
    return this.#scheduled;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  /** True if the pacer has no more requests. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Starts the pacer's time, at `startNs` if given, which may be past or future. Call it once. */
  start(startNs = this.#clock.nowNs()): void {
    this.#startNs = startNs;
    this.#turn();
  }

  /** Returns the counts so far and restarts counting. */
  takeTally(): SendTally {
    const taken = this.#tally;
    this.#tally = new SendTally();
    return taken;
  }

  /**
   * Stops sending and waits up to `limitMs` for requests in flight. Returns the number still in
   * flight after that.
   */
  async drain(limitMs: number): Promise<number> {
    this.#ended = true;
    this.#alarm.clear();
    if (this.#inFlight > 0) await this.#rest.within(limitMs, this.#clock);
    return this.#inFlight;
  }

  readonly #turn = (): void => {
    for (let turn = 0; turn < SENDS_PER_TURN; turn++) {
      if (this.#ended) return;
      const nowNs = this.#clock.nowNs();
      const next = this.#pacer(nowNs - this.#startNs, this.#scheduled);
      if (next === 'stop') {
        this.#ended = true;
        return;
      }
      if (next.waitNs >= SHORTEST_WAIT_NS) {
        this.#alarm.set(next.waitNs, this.#turn);
        return;
      }
      const isFull = this.#inFlight >= this.#rule.maxInFlight;
      const throttledNs = isFull ? 0 : (this.#throttle?.waitNs(-next.waitNs, this.#sent) ?? 0);
      if (throttledNs > 0) {
        this.#alarm.set(throttledNs, this.#turn);
        return;
      }
      const turn = this.#scheduled++;
      if (isFull) this.#drop(turn);
      else this.#send(turn, nowNs + next.waitNs, nowNs);
    }
    this.#alarm.set(0, this.#turn);
  };

  #drop(turn: number): void {
    this.#tally.dropped++;
    if (this.#classOf === undefined) return;
    const classIndex = this.#classOf(turn);
    this.#tally.droppedOf[classIndex] = (this.#tally.droppedOf[classIndex] ?? 0) + 1;
  }

  #send(turn: number, dueNs: number, nowNs: number): void {
    const slot = this.#free.pop() ?? this.#newSlot();
    slot.dueNs = dueNs;
    slot.sentNs = nowNs;
    if (this.#classOf !== undefined) slot.classIndex = this.#classOf(turn);
    this.#sent++;
    this.#inFlight++;
    if (this.#inFlight > this.#mostInFlight) this.#mostInFlight = this.#inFlight;
    const lateNs = nowNs - dueNs;
    this.#tally.sent++;
    this.#tally.lateness.record(lateNs);
    if (lateNs > this.#rule.lateNs) this.#tally.late++;
    this.#transport.send(this.#nextRequest(turn), slot.done);
  }

  #newSlot(): Slot {
    const slot: Slot = {
      dueNs: 0,
      sentNs: 0,
      classIndex: 0,
      done: (outcome) => this.#complete(slot, outcome),
    };
    return slot;
  }

  #complete(slot: Slot, outcome: SendOutcome): void {
    const nowNs = this.#clock.nowNs();
    this.#inFlight--;
    const { sentNs, dueNs, classIndex } = slot;
    this.#free.push(slot);
    this.#recorder.record(nowNs, nowNs - sentNs, outcome, nowNs - dueNs, classIndex);
    if (this.#ended && this.#inFlight === 0) this.#rest.reach();
  }
}
