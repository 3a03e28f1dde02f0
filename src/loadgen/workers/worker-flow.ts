import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { Flow, Unserved } from '../flow.ts';
import type { Part } from '../paced-part.ts';
import type { Batch, BatchRule } from '../recorder.ts';
import type { SendOrder } from '../sender.ts';
import { BatchMerge } from './batch-merge.ts';
import type { LoadThread } from './load-thread.ts';
import { type BatchReport, type Drained, mergeTallies, type PartState } from './messages.ts';

/** Time for the command to reach all threads before their common schedule begins. */
const START_LEAD_NS = 5 * NS_PER_MS;
/** Large requests take time to encode or compress. */
const PREPARE_LIMIT_MS = 120_000;

/**
 * Step for batches that only a number of requests ends, if there is no limit: reporting every
 * completion would cost more than sending.
 */
const SHORTEST_STEP_NS = 10 * NS_PER_MS;

interface Recorded {
  readonly rule: BatchRule;
  readonly onBatch: (batch: Batch) => void;
  readonly startNs: number | null;
}

const NOTHING: PartState = { failedSoFar: 0, unserved: null, due: null };

/** One order, divided over several threads, each of which sends and counts its part. */
export class WorkerFlow implements Flow {
  readonly #threads: readonly LoadThread[];
  readonly #flow: number;
  readonly #begun: Promise<unknown>;
  readonly #isLimited: boolean;
  #recorded: Recorded | null = null;
  #merge: BatchMerge | null = null;
  #recording = 0;
  #states: PartState[];
  #drained: readonly Drained[] = [];
  #due: number | null;
  /** As last reported by each thread. */
  readonly #sent: number[];
  #startNs: number | null = null;
  #ended = false;

  /**
   * `set` names the order's requests, which the threads have. `nullServer`: the server to send to
   * instead.
   */
  constructor(
    threads: readonly LoadThread[],
    flow: number,
    set: number,
    { requests: _, ...order }: SendOrder,
    nullServer?: string,
  ) {
    this.#threads = threads;
    this.#flow = flow;
    this.#states = threads.map(() => NOTHING);
    this.#sent = threads.map(() => 0);
    this.#isLimited = Number.isFinite(order.mostRequests ?? Number.POSITIVE_INFINITY);
    this.#due = order.level.mode === 'request-rate' ? 0 : null;
    for (const [index, thread] of threads.entries()) {
      thread.listen(flow, (report) => {
        if (report.recording !== this.#recording) return;
        if (report.type === 'state') this.#states[index] = report.state;
        else this.#takeBatch(index, report);
      });
    }
    const begun = threads.map((thread, index) =>
      thread.ask('begin', { flow, set, order, part: partAt(index, threads), nullServer }, PREPARE_LIMIT_MS),
    );
    this.#begun = Promise.all(begun);
    // `check` reports the fault.
    this.#begun.catch(() => undefined);
  }

  get startNs(): number | null {
    return this.#startNs;
  }

  /** Starts the threads together, once all are ready. */
  start(): void {
    this.#begun.then(
      () => {
        if (this.#ended) return;
        this.#startNs = realClock.nowNs() + this.#leadNs();
        this.#recordInThreads();
        for (const thread of this.#threads) thread.tell({ type: 'start', flow: this.#flow, startNs: this.#startNs });
      },
      () => undefined,
    );
  }

  /** A recording that should start before the threads have begun starts when they begin. */
  record(rule: BatchRule, onBatch: (batch: Batch) => void, startNs: number | null = null): void {
    if (rule.lengthNs === 0 && this.#isLimited && rule.minRequests < this.#threads.length) throw tooFew();
    this.#recording++;
    this.#recorded = { rule, onBatch, startNs };
    this.#states = this.#states.map((state) => ({ ...state, failedSoFar: 0 }));
    this.#merge = null;
    if (this.#startNs !== null) this.#recordInThreads();
  }

  stopRecording(): void {
    this.#recorded = null;
    this.#merge = null;
    if (this.#startNs === null) return;
    for (const thread of this.#threads) thread.tell({ type: 'stop-recording', flow: this.#flow });
  }

  async closeBatch(): Promise<void> {
    await this.#begun;
    await Promise.all(this.#threads.map((thread) => thread.ask('close-batch', { flow: this.#flow })));
    this.#merge?.flush();
  }

  get sent(): number {
    const counts = this.#drained.length > 0 ? this.#drained.map(({ sent }) => sent) : this.#sent;
    return counts.reduce((sum, sent) => sum + sent, 0);
  }

  get mostInFlight(): number {
    return this.#drained.reduce((sum, { mostInFlight }) => sum + mostInFlight, 0);
  }

  get due(): number | null {
    return this.#due;
  }

  get dueByNow(): number | null {
    return this.#due === null ? null : this.#states.reduce((sum, { due }) => sum + (due ?? 0), 0);
  }

  get failedSoFar(): number {
    return this.#states.reduce((sum, { failedSoFar }) => sum + failedSoFar, 0);
  }

  /** The server counts as serving while any thread is served. */
  get unserved(): Unserved | null {
    let last: Unserved | null = null;
    for (const { unserved } of this.#states) {
      if (unserved === null) return null;
      if (last === null || unserved.sinceNs > last.sinceNs) last = unserved;
    }
    return last;
  }

  async takeTally() {
    await this.#begun;
    const tallies = await Promise.all(this.#threads.map((thread) => thread.ask('take-tally', { flow: this.#flow })));
    const paced = tallies.flatMap((tally, index) =>
      tally === null ? [] : [{ agent: this.#threads[index]?.agent ?? null, tally }],
    );
    return paced.length === 0 ? null : mergeTallies(paced);
  }

  async drain(limitMs: number): Promise<number> {
    this.#ended = true;
    const [begun] = await Promise.allSettled([this.#begun]);
    // If one thread is lost, the others still finish their requests.
    const drained = await Promise.allSettled(
      this.#threads.map((thread) => thread.ask('drain', { flow: this.#flow, limitMs }, limitMs)),
    );
    if (begun.status === 'rejected') throw begun.reason;
    this.#drained = drained.map((each) => {
      if (each.status === 'rejected') throw each.reason;
      return each.value;
    });
    return this.#drained.reduce((sum, { left }) => sum + left, 0);
  }

  /** Forgets the flow if it is drained; returns whether it was. */
  release(): boolean {
    if (this.#drained.length === 0) return false;
    for (const thread of this.#threads) thread.ignore(this.#flow);
    return true;
  }

  check(): void {
    for (const { fault } of this.#threads) if (fault) throw fault;
  }

  /** Within one process a closed loop has no common schedule: it begins on command. */
  #leadNs(): number {
    const reachNs = Math.max(...this.#threads.map((thread) => thread.reachNs));
    return reachNs === 0 && this.#due === null ? 0 : START_LEAD_NS + reachNs;
  }

  #recordInThreads(): void {
    const begunNs = this.#startNs as number;
    if (this.#recorded === null) return;
    const { rule, onBatch } = this.#recorded;
    const startNs = this.#recorded.startNs === null ? null : Math.max(this.#recorded.startNs, begunNs);
    const isCounted = rule.lengthNs === 0 && this.#isLimited;
    const stepNs = isCounted ? 0 : Math.max(rule.lengthNs, SHORTEST_STEP_NS);
    const originNs = startNs ?? realClock.nowNs();
    const steps = { stepNs, originNs, minRequests: rule.minRequests };
    this.#merge = new BatchMerge(this.#threads.length, steps, ({ batch, due }) => {
      this.#due = due;
      onBatch(batch);
    });
    for (const [index, thread] of this.#threads.entries()) {
      const ofEach: BatchRule = isCounted
        ? { ...rule, part: partAt(index, this.#threads) }
        : { ...rule, lengthNs: stepNs, minRequests: 1, inStepWithNs: originNs };
      thread.tell({ type: 'record', flow: this.#flow, recording: this.#recording, rule: ofEach, startNs });
    }
  }

  #takeBatch(index: number, { batch, state, sentSoFar }: BatchReport): void {
    this.#states[index] = state;
    this.#sent[index] = sentSoFar;
    this.#merge?.add(index, batch, state.due);
  }
}

const partAt = (index: number, threads: readonly LoadThread[]): Part => ({ index, of: threads.length });

const tooFew = (): TrituneError =>
  new TrituneError('UNSUPPORTED', 'there are fewer requests than threads', 'lower --client-threads');
