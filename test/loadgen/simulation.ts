import type { Clock } from '#base/clock.ts';
import type { InferRequest, PreparedRequest, RequestSet, SendOutcome, Transport } from '#loadgen/types.ts';
import type { ModelStatistics, ServerStats } from '#triton/types.ts';

/**
 * A clock whose time goes from event to event: work that takes seconds of it takes moments of ours.
 * After an event that ends a sleep it lets the sleeper run on before it goes to the next.
 */
export class SimulatedClock implements Clock {
  #nowNs = 0;
  #pumping = false;
  #sleepers = 0;
  /** The next one last. */
  readonly #events: SimulatedEvent[] = [];

  nowNs(): number {
    return this.#nowNs;
  }

  wallMs(): number {
    return this.#nowNs / 1e6;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const wake = (): void => {
        signal?.removeEventListener('abort', cancel);
        resolve();
      };
      const event = this.#add(ms * 1e6, wake, true);
      const cancel = (): void => {
        const index = this.#events.indexOf(event);
        if (index >= 0) {
          this.#events.splice(index, 1);
          this.#sleepers--;
        }
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Runs `action` after so long; it must not wait for anything. */
  after(ns: number, action: () => void): void {
    this.#add(ns, action, false);
  }

  #add(ns: number, action: () => void, wakes: boolean): SimulatedEvent {
    const event = { dueNs: this.#nowNs + ns, action, wakes };
    let index = this.#events.length;
    while (index > 0 && (this.#events[index - 1] as SimulatedEvent).dueNs <= event.dueNs) index--;
    this.#events.splice(index, 0, event);
    if (wakes) this.#sleepers++;
    if (!this.#pumping) {
      this.#pumping = true;
      setImmediate(() => this.#pump());
    }
    return event;
  }

  #pump(): void {
    // Whoever waits for a promise has the next word: before and after a wake-up, and always while
    // nobody sleeps.
    let hasWord = false;
    while (this.#events.length > 0 && !hasWord) {
      const event = this.#events.pop() as SimulatedEvent;
      this.#nowNs = event.dueNs;
      if (event.wakes) this.#sleepers--;
      event.action();
      hasWord = event.wakes || this.#sleepers === 0 || this.#events.at(-1)?.wakes === true;
    }
    this.#pumping = this.#events.length > 0;
    if (this.#pumping) setImmediate(() => this.#pump());
  }
}

interface SimulatedEvent {
  readonly dueNs: number;
  readonly action: () => void;
  /** Ends a sleep. */
  readonly wakes: boolean;
}

export interface SimulatedModel {
  readonly instances?: number;
  readonly maxBatch?: number;
  /** Nanoseconds of one execution of so many requests, these; `execution` counts from 0. */
  readonly executionNs: (batch: number, execution: number, requests: readonly InferRequest[]) => number;
  /**
   * How request number n (from 0) ends; ok when not given. Failures are answered after
   * `failAfterNs`.
   */
  readonly outcome?: (request: number) => SendOutcome;
  readonly failAfterNs?: number;
}

const none = { count: 0, ns: 0 };

/** A server in memory: a queue before instances that take up to `maxBatch` requests at a time. */
export class SimulatedServer implements Transport, ServerStats {
  readonly clock: SimulatedClock;
  readonly #model: SimulatedModel;
  readonly #queue: { request: InferRequest; sentNs: number; done: (outcome: SendOutcome) => void }[] = [];
  #busy = 0;
  #requests = 0;
  #executions = 0;
  inFlight = 0;
  mostInFlight = 0;
  closed = false;
  /** What `statistics` reports; a test may change it. */
  served = { requests: 0, executions: 0, successNs: 0, queueNs: 0, computeNs: 0 };
  readonly batches = new Map<number, { count: number; ns: number }>();

  constructor(clock: SimulatedClock, model: SimulatedModel) {
    this.clock = clock;
    this.#model = model;
  }

  prepare(request: InferRequest): PreparedRequest {
    return { request };
  }

  send({ request }: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const outcome = this.#model.outcome?.(this.#requests++) ?? { ok: true };
    const finish = (ended: SendOutcome): void => {
      this.inFlight--;
      done(ended);
    };
    if (!outcome.ok) {
      this.clock.after(this.#model.failAfterNs ?? 1000, () => finish(outcome));
      return;
    }
    this.#queue.push({ request, sentNs: this.clock.nowNs(), done: finish });
    this.#dispatch();
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  async statistics(model: string): Promise<readonly ModelStatistics[]> {
    const { requests, executions, successNs, queueNs, computeNs } = this.served;
    const batchStats = [...this.batches].map(([batchSize, { count, ns }]) => ({
      batchSize,
      computeInput: { count, ns: 0 },
      computeInfer: { count, ns },
      computeOutput: { count, ns: 0 },
    }));
    return [
      {
        name: model,
        version: '1',
        lastInferenceMs: 0,
        inferenceCount: requests,
        executionCount: executions,
        success: { count: requests, ns: successNs },
        fail: none,
        queue: { count: requests, ns: queueNs },
        computeInput: { count: requests, ns: 0 },
        computeInfer: { count: requests, ns: computeNs },
        computeOutput: { count: requests, ns: 0 },
        cacheHit: none,
        cacheMiss: none,
        batchStats,
        memoryUsage: [],
      },
    ];
  }

  /** Requests that arrive together are batched together, so an idle instance starts after them. */
  #dispatch(): void {
    if (this.#busy >= (this.#model.instances ?? 1)) return;
    this.#busy++;
    this.clock.after(0, () => this.#execute());
  }

  #execute(): void {
    const taken = this.#queue.splice(0, this.#model.maxBatch ?? 1);
    if (taken.length === 0) {
      this.#busy--;
      return;
    }
    const startNs = this.clock.nowNs();
    const requests = taken.map(({ request }) => request);
    const executionNs = this.#model.executionNs(taken.length, this.#executions++, requests);
    this.clock.after(executionNs, () => {
      this.#count(taken, startNs, executionNs);
      for (const request of taken) request.done({ ok: true });
      this.#execute();
    });
  }

  #count(taken: readonly { sentNs: number }[], startNs: number, executionNs: number): void {
    this.served.executions++;
    const batch = this.batches.get(taken.length) ?? { count: 0, ns: 0 };
    this.batches.set(taken.length, { count: batch.count + 1, ns: batch.ns + executionNs });
    for (const { sentNs } of taken) {
      this.served.requests++;
      this.served.queueNs += startNs - sentNs;
      this.served.computeNs += executionNs;
      this.served.successNs += startNs - sentNs + executionNs;
    }
  }
}

export const aRequest: InferRequest = { model: 'm', version: '', inputs: [], batch: 1 };
export const aRequestSet: RequestSet = { ...aRequest, requests: [aRequest] };
