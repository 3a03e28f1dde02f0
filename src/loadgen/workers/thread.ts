import { Worker, type WorkerOptions } from 'node:worker_threads';
import { withDeadline } from '#base/abort.ts';
import { type ErrorCode, formatMessage, TrituneError } from '#base/errors.ts';
import { entryPath } from '#base/package.ts';
import type { FlowReport, LoadThread } from './load-thread.ts';
import type { AnswerOf, Answers, ThreadCommand, ThreadReport, ThreadSettings } from './messages.ts';
import type { PackedObserved } from './observed-requests.ts';

/** Milliseconds within which a live thread answers; a thread that does not never will. */
const ANSWER_LIMIT_MS = 10_000;

const threadFile = entryPath('loadgen/workers/client-thread');

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (fault: TrituneError) => void;
}

/**
 * One thread of the load generator, seen from outside. After a fault it does nothing more, and says
 * why.
 */
export class Thread implements LoadThread {
  readonly agent = null;
  readonly reachNs = 0;
  /** Listeners of its unsolicited messages, by the number of the flow. */
  readonly #listeners = new Map<number, (report: FlowReport) => void>();
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #fault: TrituneError | null = null;
  #closed = false;
  /** Called with finished requests if the thread observes them. */
  onObserved: (requests: readonly PackedObserved[]) => void = () => undefined;
  /** Called once with its fault. */
  onFault: (fault: TrituneError) => void = () => undefined;

  /** `worker`: how the thread runs, for tests of threads that die. */
  constructor(settings: ThreadSettings, worker: WorkerOptions) {
    this.#worker = new Worker(threadFile, { ...worker, workerData: settings });
    this.#worker.on('message', (report: ThreadReport) => this.#take(report));
    this.#worker.on('error', (error) => this.#fail(ended(formatMessage(error))));
    this.#worker.on('exit', (code) => this.#fail(ended(`exit code ${code}`)));
  }

  /** Why it cannot continue; null while it can. */
  get fault(): TrituneError | null {
    return this.#fault;
  }

  /** `onReport` receives the thread's reports on the flow, until `ignore`. */
  listen(flow: number, onReport: (report: FlowReport) => void): void {
    this.#listeners.set(flow, onReport);
  }

  ignore(flow: number): void {
    this.#listeners.delete(flow);
  }

  tell(command: ThreadCommand): void {
    if (this.#fault === null) this.#worker.postMessage(command);
  }

  /**
   * Returns the thread's answer. `extraMs`: time that the work itself may take. Errors:
   * CLIENT_FAILED, and those of the work.
   */
  ask<K extends keyof Answers>(type: K, about: Answers[K], extraMs = 0): Promise<AnswerOf[K]> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    if (this.#closed) return Promise.reject(ended('it was closed'));
    const ask = ++this.#asked;
    const answer = new Promise<AnswerOf[K]>((resolve, reject) => this.#waiting.set(ask, { resolve, reject }));
    this.#worker.postMessage({ ...about, type, ask });
    return withDeadline(answer, ANSWER_LIMIT_MS + extraMs, () => {
      const fault = ended(`it did not answer for ${ANSWER_LIMIT_MS + extraMs} ms`);
      this.#fail(fault);
      return fault;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker.terminate();
  }

  #take(report: ThreadReport): void {
    if (report.type === 'failed') {
      this.#fail(new TrituneError(report.code as ErrorCode, report.message, report.hint));
    } else if (report.type === 'answer') {
      this.#waiting.get(report.ask)?.resolve(report.value as never);
      this.#waiting.delete(report.ask);
    } else if (report.type === 'observed') {
      this.onObserved(report.requests);
    } else if (!this.#closed) {
      this.#listeners.get(report.flow)?.(report);
    }
  }

  #fail(fault: TrituneError): void {
    const isFirst = !this.#closed && this.#fault === null;
    if (isFirst) this.#fault = fault;
    for (const { reject } of this.#waiting.values()) reject(fault);
    this.#waiting.clear();
    if (isFirst) this.onFault(fault);
  }
}

const ended = (why: string): TrituneError =>
  new TrituneError(
    'CLIENT_FAILED',
    `a thread of the load generator ended: ${why}`,
    'use smaller inputs or fewer --client-threads if memory ran out; otherwise please report it',
  );
