import { realClock } from '../../base/clock.ts';
import { TrituneError } from '../../base/errors.ts';
import { NS_PER_MS } from '../../base/units.ts';
import type { Flow, Unserved } from '../flow.ts';
import type { Part } from '../part.ts';
import type { Batch, BatchRule, FailureTally } from '../recorder.ts';
import type { SendOrder } from '../sender.ts';
import { BatchMerge } from './batch-merge.ts';
import { type Drained, mergeTallies, type PackedBatch, type PartState } from './messages.ts';
import type { Thread } from './thread.ts';

/** Time for the word to reach all threads before their common schedule begins. */
const START_LEAD_NS = 5 * NS_PER_MS;
/** To encode large requests, or to compress them, takes its time. */
const PREPARE_LIMIT_MS = 120_000;

/** Batches that only a number of requests ends come at such steps: to say every completion would cost more than to send. */
const SHORTEST_STEP_NS = 10 * NS_PER_MS;

const NOTHING: PartState = { failed: 0, unserved: null };

/** One order, divided over several threads, each of which sends and counts its part. */
export class WorkerFlow implements Flow {
  readonly #threads: readonly Thread[];
  readonly #begun: Promise<unknown>;
  readonly #isLimited: boolean;
  #merge: BatchMerge | null = null;
  #recording = 0;
  #states: PartState[];
  #drained: readonly Drained[] = [];
  #failures: readonly FailureTally[] = [];
  #due: number | null;
  #ended = false;

  /** `set` names the order's requests, which the threads have. */
  constructor(threads: readonly Thread[], flow: number, set: number, { requests: _, ...order }: SendOrder) {
    this.#threads = threads;
    this.#states = threads.map(() => NOTHING);
    this.#isLimited = Number.isFinite(order.mostRequests ?? Number.POSITIVE_INFINITY);
    this.#due = order.level.mode === 'request-rate' ? 0 : null;
    for (const [index, thread] of threads.entries()) {
      thread.onReport = (report) => {
        if (report.flow !== flow || report.recording !== this.#recording) return;
        if (report.type === 'state') this.#states[index] = report.state;
        else this.#takeBatch(index, report.batch);
      };
    }
    const begun = threads.map((thread, index) =>
      thread.ask('begin', { flow, set, order, part: partAt(index, threads) }, PREPARE_LIMIT_MS),
    );
    this.#begun = Promise.all(begun);
    // Whoever looks finds the fault with `check`.
    this.#begun.catch(() => undefined);
  }

  /** The threads begin together, once all have made ready. */
  start(): void {
    this.#begun.then(
      () => {
        if (this.#ended) return;
        const startNs = realClock.nowNs() + START_LEAD_NS;
        for (const thread of this.#threads) thread.tell({ type: 'start', startNs });
      },
      () => undefined,
    );
  }

  record(rule: BatchRule, onBatch: (batch: Batch) => void, startNs: number | null = null): void {
    if (rule.lengthNs === 0 && this.#isLimited) throw notDivided();
    const recording = ++this.#recording;
    const lengthNs = Math.max(rule.lengthNs, SHORTEST_STEP_NS);
    const inStepWithNs = startNs ?? realClock.nowNs();
    this.#states = this.#states.map((state) => ({ ...state, failed: 0 }));
    this.#failures = [];
    const steps = { stepNs: lengthNs, originNs: inStepWithNs, minRequests: rule.minRequests };
    this.#merge = new BatchMerge(this.#threads.length, steps, ({ batch, due, failures }) => {
      this.#due = due;
      this.#failures = failures;
      onBatch(batch);
    });
    const ofEach = { lengthNs, minRequests: 1, inStepWithNs };
    for (const thread of this.#threads) thread.tell({ type: 'record', recording, rule: ofEach, startNs });
  }

  stopRecording(): void {
    this.#merge = null;
    for (const thread of this.#threads) thread.tell({ type: 'stop-recording' });
  }

  async closeBatch(): Promise<void> {
    await this.#begun;
    await Promise.all(this.#threads.map((thread) => thread.ask('close-batch', {})));
    this.#merge?.flush();
  }

  get sent(): number {
    return this.#drained.reduce((sum, { sent }) => sum + sent, 0);
  }

  get mostInFlight(): number {
    return this.#drained.reduce((sum, { mostInFlight }) => sum + mostInFlight, 0);
  }

  get due(): number | null {
    return this.#due;
  }

  get failures(): readonly FailureTally[] {
    return this.#failures;
  }

  get failed(): number {
    return this.#states.reduce((sum, { failed }) => sum + failed, 0);
  }

  /** As long as one thread is served, the server serves. */
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
    const tallies = await Promise.all(this.#threads.map((thread) => thread.ask('take-tally', {})));
    const paced = tallies.filter((tally) => tally !== null);
    return paced.length === 0 ? null : mergeTallies(paced);
  }

  async drain(limitMs: number): Promise<number> {
    this.#ended = true;
    await this.#begun;
    this.#drained = await Promise.all(this.#threads.map((thread) => thread.ask('drain', { limitMs }, limitMs)));
    return this.#drained.reduce((sum, { left }) => sum + left, 0);
  }

  check(): void {
    for (const { fault } of this.#threads) if (fault) throw fault;
  }

  #takeBatch(index: number, batch: PackedBatch): void {
    const { failed, unserved } = batch;
    this.#states[index] = { failed, unserved };
    this.#merge?.add(index, batch);
  }
}

const partAt = (index: number, threads: readonly Thread[]): Part => ({ index, of: threads.length });

/** Each thread would wait for the others' last requests to end its own last batch. */
const notDivided = (): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    'a fixed number of requests is sent by one thread only',
    'leave out --client-threads',
  );
