import type { SendTally } from './open-loop.ts';
import type { Part } from './paced-part.ts';
import { type Batch, type BatchRule, Recorder } from './recorder.ts';
import { createSender, type SendMeans, type SendOrder } from './sender.ts';

/** The time since which every connection was refused or cut, with nothing served in between. */
export interface Unserved {
  readonly sinceNs: number;
  readonly message: string;
}

/**
 * The requests of one order in progress, counted in batches; sent by this thread, or by several
 * that act as one.
 */
export interface Flow {
  /** Starts sending. Call it once. */
  start(startNs?: number): void;
  /**
   * From the next completion or from `startNs` on, sorts completed requests into batches of this
   * rule.
   */
  record(rule: BatchRule, onBatch: (batch: Batch) => void, startNs?: number | null): void;
  /** Stops counting; later completions are not recorded. */
  stopRecording(): void;
  /** Ends the open batch now, if anything completed in it. */
  closeBatch(): Promise<void>;
  /** The moment from which due times count; null before the start. */
  readonly startNs: number | null;
  /** Requests sent since the start; with several threads exact only once drained. */
  readonly sent: number;
  readonly mostInFlight: number;
  /**
   * Requests that were due since the start, sent or not, at least as of the end of the last batch;
   * null in a closed loop.
   */
  readonly due: number | null;
  /** The same as of a moment ago, whether or not a batch has ended since. */
  readonly dueByNow: number | null;
  /**
   * Failed requests since `record`, including those of the open batch; with several threads as last
   * reported.
   */
  readonly failedSoFar: number;
  /** null if the server serves. */
  readonly unserved: Unserved | null;
  /** Takes the outcome of the requests that were due since the last call; null in a closed loop. */
  takeTally(): Promise<SendTally | null>;
  /**
   * Stops sending and waits up to `limitMs` for requests in flight. Returns the number still in
   * flight after that.
   */
  drain(limitMs: number): Promise<number>;
  /** Errors: CLIENT_FAILED if it cannot continue. */
  check(): void;
}

/**
 * A flow of this thread. With a part it is one of several that send the order together, and each of
 * its batches is valid only until the next one ends.
 */
export function localFlow(order: SendOrder, means: SendMeans, part?: Part): Flow {
  const recorder = new Recorder({
    reuses: part !== undefined,
    limits: order.limits,
    classes: order.requests.classes,
  });
  const sender = createSender(order, means, recorder, part);
  let startedNs: number | null = null;
  return {
    start: (startNs = means.clock.nowNs()) => {
      startedNs = startNs;
      sender.start(startNs);
    },
    get startNs() {
      return startedNs;
    },
    record: (rule, onBatch, startNs) => recorder.start(rule, onBatch, startNs),
    stopRecording: () => recorder.stop(),
    closeBatch: async () => recorder.closeNow(means.clock.nowNs()),
    get sent() {
      return sender.sent;
    },
    get mostInFlight() {
      return sender.mostInFlight;
    },
    get due() {
      return sender.due;
    },
    get dueByNow() {
      return sender.due;
    },
    get failedSoFar() {
      return recorder.failedSoFar;
    },
    get unserved() {
      return recorder.unserved;
    },
    takeTally: async () => sender.takeTally(),
    drain: (limitMs) => sender.drain(limitMs),
    check: () => undefined,
  };
}
