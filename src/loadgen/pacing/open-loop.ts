import type { Alarm } from '../../base/alarm.ts';
import type { Clock } from '../../base/clock.ts';
import { LatencyHistogram } from '../../stats/histogram.ts';
import type { Recorder } from '../recorder.ts';
import type { RequestTurns } from '../request-turns.ts';
import { Rest } from '../rest.ts';
import type { RequestSender, SendOutcome } from '../types.ts';
import type { Pacer } from './pacers.ts';

/** Requests that are sent without a look at the replies, at most, however many are due. */
const SENDS_PER_TURN = 64;
/** Less than this is no wait: sums of times are only so exact. */
const SHORTEST_WAIT_NS = 1;

export interface OpenLoopRule {
  /** Requests in flight, at most; a request that is due then is dropped and not made up for. */
  readonly maxInFlight: number;
  /** A request sent this long after it was due is a late one. */
  readonly lateNs: number;
}

export const defaultOpenLoopRule: OpenLoopRule = { maxInFlight: 4096, lateNs: 1e6 };

/** The fate of the requests that were due. */
export class SendTally {
  sent = 0;
  late = 0;
  dropped = 0;
  /** The dropped ones of each class, by its index; empty where there are no classes, or none was dropped. */
  readonly droppedOf: number[] = [];
  /** From due to sent, of the sent ones. */
  readonly lateness = new LatencyHistogram();
  /** The same of each agent, by its address; absent where none sends. */
  byAgent?: ReadonlyMap<string, SendTally>;
}

interface Slot {
  dueNs: number;
  sentNs: number;
  classIndex: number;
  readonly done: (outcome: SendOutcome) => void;
}

/**
 * Sends requests at the pacer's times, whatever the replies do. What was due while this thread was held up is sent at
 * once, each request with the time it was due; nothing is sent that was not due, and nothing that was is left out unless
 * too many are in flight. Latency is recorded from the sending and from the time due, which also holds the wait that a
 * slow client adds: a server's stall shows in every request that it should have had meanwhile.
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
  ) {
    this.#transport = target.transport;
    this.#nextRequest = target.nextRequest;
    this.#classOf = target.classOf;
    this.#recorder = target.recorder;
    this.#clock = time.clock;
    this.#alarm = time.alarm;
    this.#pacer = pacer;
    this.#rule = rule;
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

  /** True when the pacer has no more requests. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Begins the pacer's time, at `startNs` if that is given, past or to come. To be called once. */
  start(startNs = this.#clock.nowNs()): void {
    this.#startNs = startNs;
    this.#turn();
  }

  /** Counts anew from now on; gives back what was counted so far. */
  takeTally(): SendTally {
    const taken = this.#tally;
    this.#tally = new SendTally();
    return taken;
  }

  /** Stops sending and waits up to `limitMs` for what is in flight. Gives the number of requests still in flight then. */
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
      const turn = this.#scheduled++;
      if (this.#inFlight >= this.#rule.maxInFlight) this.#drop(turn);
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
