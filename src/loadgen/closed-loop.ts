import type { Clock } from '#base/clock.ts';
import { nsToMs } from '#base/units.ts';
import type { Recorder } from './recorder.ts';
import type { RequestTurns } from './request-turns.ts';
import { Rest } from './rest.ts';
import type { RequestSender, SendOutcome } from './types.ts';

/**
 * Pause of a slot after its first consecutive failure; it doubles with each further one, so that
 * errors do not spin.
 */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 256;
/** A start that is nearer than this happens at once: timers are no more accurate. */
const SHORTEST_WAIT_MS = 1;

/** One place for a request in flight. */
interface Slot {
  sentNs: number;
  classIndex: number;
  busy: boolean;
  failuresInRow: number;
  readonly done: (outcome: SendOutcome) => void;
}

/**
 * Keeps exactly this many requests in flight: each completion sends the next request from the same
 * slot. Only a slot whose request failed pauses before it sends again. Slots are reused, so a
 * request allocates nothing here.
 */
export class ClosedLoop<P> {
  readonly #transport: RequestSender<P>;
  readonly #nextRequest: RequestTurns<P>['nextRequest'];
  readonly #classOf: RequestTurns<P>['classOf'];
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #mostRequests: number;
  readonly #slots: Slot[] = [];
  readonly #pauses = new AbortController();
  #concurrency = 0;
  #inFlight = 0;
  #sent = 0;
  readonly #rest = new Rest();

  /** Sends at most `mostRequests` in total. */
  constructor(
    transport: RequestSender<P>,
    { nextRequest, classOf }: RequestTurns<P>,
    recorder: Recorder,
    clock: Clock,
    mostRequests = Number.POSITIVE_INFINITY,
  ) {
    this.#transport = transport;
    this.#nextRequest = nextRequest;
    this.#classOf = classOf;
    this.#recorder = recorder;
    this.#clock = clock;
    this.#mostRequests = mostRequests;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests sent since the start. */
  get sent(): number {
    return this.#sent;
  }

  /** Starts at `startNs`, or now if that has passed. */
  startAt(startNs: number, concurrency: number): void {
    const waitMs = nsToMs(startNs - this.#clock.nowNs());
    if (waitMs < SHORTEST_WAIT_MS) {
      this.setConcurrency(concurrency);
      return;
    }
    this.#clock.sleep(waitMs, this.#pauses.signal).then(
      () => this.setConcurrency(concurrency),
      () => undefined,
    );
  }

  /**
   * Changes the level on the same connections: new slots send at once, surplus ones end with their
   * request.
   */
  setConcurrency(concurrency: number): void {
    const before = this.#concurrency;
    this.#concurrency = concurrency;
    for (let index = before; index < concurrency; index++) {
      if (index === this.#slots.length) this.#slots.push(this.#newSlot(index));
      const slot = this.#slots[index] as Slot;
      if (!slot.busy) this.#send(slot);
    }
  }

  /**
   * Stops sending and waits up to `limitMs` for requests in flight. Returns the number still in
   * flight after that.
   */
  async drain(limitMs: number): Promise<number> {
    this.#concurrency = 0;
    this.#pauses.abort();
    if (this.#inFlight > 0) await this.#rest.within(limitMs, this.#clock);
    return this.#inFlight;
  }

  #newSlot(index: number): Slot {
    return {
      sentNs: 0,
      classIndex: 0,
      busy: false,
      failuresInRow: 0,
      done: (outcome) => this.#complete(index, outcome),
    };
  }

  #send(slot: Slot): void {
    if (this.#sent >= this.#mostRequests) return;
    slot.busy = true;
    this.#inFlight++;
    const turn = this.#sent++;
    if (this.#classOf !== undefined) slot.classIndex = this.#classOf(turn);
    slot.sentNs = this.#clock.nowNs();
    this.#transport.send(this.#nextRequest(turn), slot.done);
  }

  #complete(index: number, outcome: SendOutcome): void {
    const slot = this.#slots[index] as Slot;
    const nowNs = this.#clock.nowNs();
    this.#inFlight--;
    slot.busy = false;
    this.#recorder.record(nowNs, nowNs - slot.sentNs, outcome, undefined, slot.classIndex);
    if (index >= this.#concurrency) {
      if (this.#inFlight === 0) this.#rest.reach();
    } else if (outcome.ok) {
      slot.failuresInRow = 0;
      this.#send(slot);
    } else {
      this.#sendAfterPause(slot, index);
    }
  }

  #sendAfterPause(slot: Slot, index: number): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** slot.failuresInRow, LONGEST_PAUSE_MS);
    slot.failuresInRow++;
    // Busy, so that a change of level during the pause does not send from this slot too.
    slot.busy = true;
    this.#clock.sleep(pauseMs, this.#pauses.signal).then(
      () => {
        slot.busy = false;
        if (index < this.#concurrency) this.#send(slot);
      },
      () => {
        slot.busy = false;
      },
    );
  }
}
