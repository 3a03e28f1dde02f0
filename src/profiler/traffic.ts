import { interrupted, throwIfInterrupted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { TrituneError } from '../base/errors.ts';
import { MS_PER_S, msToNs, nsToMs } from '../base/units.ts';
import { ClosedLoop } from '../loadgen/closed-loop.ts';
import { type Batch, type BatchRule, type FailureTally, Recorder } from '../loadgen/recorder.ts';
import { requestCycle } from '../loadgen/request-cycle.ts';
import type { PreparedRequest } from '../loadgen/types.ts';
import type { LevelOptions } from './level-options.ts';

const SHORTEST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 50;
const DEFAULT_DRAIN_MS = 5000;
/** An interrupted run has a model to put back, and a person waiting. */
const INTERRUPTED_DRAIN_MS = 500;
const DEFAULT_UNREACHABLE_MS = 3000;

/** The requests of one measurement: sent by a closed loop, recorded in batches, watched for a server that is gone. */
export class Traffic {
  readonly #loop: ClosedLoop<PreparedRequest>;
  readonly #recorder = new Recorder();
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #options: LevelOptions;
  #lookMs = LONGEST_LOOK_MS;

  constructor(options: LevelOptions) {
    if (options.level.mode !== 'concurrency') {
      throw new TrituneError('UNSUPPORTED', 'request rates cannot be measured yet', 'use a range of --concurrency');
    }
    this.#options = options;
    this.#clock = options.clock;
    this.#signal = options.signal;
    this.#loop = new ClosedLoop(
      options.transport,
      requestCycle(options.transport, options.requests),
      this.#recorder,
      options.clock,
    );
  }

  start(): void {
    throwIfInterrupted(this.#signal);
    this.#loop.setConcurrency(this.#options.level.value);
  }

  get sent(): number {
    return this.#loop.sent;
  }

  get failures(): readonly FailureTally[] {
    return this.#recorder.failures;
  }

  /** From now on completed requests go into batches of this rule, one after the other. */
  record(rule: BatchRule, onBatch: (batch: Batch) => void): void {
    this.#lookMs = Math.min(Math.max(nsToMs(rule.lengthNs) / 4, SHORTEST_LOOK_MS), LONGEST_LOOK_MS);
    this.#recorder.start(rule, onBatch);
  }

  /** What completes from now on is not counted. */
  stopRecording(): void {
    this.#recorder.stop();
  }

  /**
   * Waits until `reached` holds, or until `limitNs` have passed, when the open batch is ended if it holds anything.
   * Errors: INTERRUPTED; SERVER_UNREACHABLE.
   */
  async waitUntil(reached: () => boolean, limitNs: number): Promise<void> {
    const startNs = this.#clock.nowNs();
    while (!reached()) {
      await this.#pause();
      const nowNs = this.#clock.nowNs();
      this.#checkReachable(nowNs);
      if (nowNs - startNs >= limitNs && !reached()) {
        this.#recorder.closeNow(nowNs);
        return;
      }
    }
  }

  /** Waits, when connections are being refused, until it is clear whether the server is gone. Errors: as `waitUntil`. */
  async confirmReachable(): Promise<void> {
    await this.waitUntil(() => this.#recorder.unserved === null, Number.POSITIVE_INFINITY);
  }

  /** Stops sending and waits, bounded, for what is in flight. Safe to call more than once. */
  async drain(): Promise<void> {
    const limitMs = this.#signal.aborted ? INTERRUPTED_DRAIN_MS : (this.#options.drainMs ?? DEFAULT_DRAIN_MS);
    await this.#loop.drain(limitMs);
  }

  async #pause(): Promise<void> {
    try {
      await this.#clock.sleep(this.#lookMs, this.#signal);
    } catch (error) {
      throw this.#signal.aborted ? interrupted(this.#signal) : error;
    }
  }

  #checkReachable(nowNs: number): void {
    const unserved = this.#recorder.unserved;
    const limitMs = this.#options.unreachableMs ?? DEFAULT_UNREACHABLE_MS;
    if (unserved === null || nowNs - unserved.sinceNs < msToNs(limitMs)) return;
    throw new TrituneError(
      'SERVER_UNREACHABLE',
      `the server took no request for ${limitMs / MS_PER_S} s: ${unserved.message}`,
      'see whether it still runs, and its log if it ended',
    );
  }
}
