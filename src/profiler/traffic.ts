import { interrupted, throwIfInterrupted } from '#base/abort.ts';
import type { Clock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S, msToNs, nsToMs } from '#base/units.ts';
import type { FailureTally } from '#loadgen/failure-tally.ts';
import { type Flow, localFlow } from '#loadgen/flow.ts';
import type { SendTally } from '#loadgen/open-loop.ts';
import type { Batch, BatchRule } from '#loadgen/recorder.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { LevelOptions } from './level-options.ts';

/** Interval at which to check for errors and refusals. Batches are handled as they arrive. */
const LOOK_MS = 20;
const DEFAULT_DRAIN_MS = 5000;
/**
 * An open loop that the server could not keep up with leaves a queue, which may last as long as the
 * measurement did.
 */
const DEFAULT_OPEN_DRAIN_MS = 20_000;
/** After an interruption a model must be restored, and a person is waiting. */
const INTERRUPTED_DRAIN_MS = 500;
/** At least this long requests in flight are waited for when the time of a measurement is up. */
const LATE_DRAIN_MS = 2000;
const DEFAULT_UNREACHABLE_MS = 3000;

/**
 * The requests of one measurement: sends them at its level, records them in batches, and notices a
 * server that is gone.
 */
export class MeasuredTraffic {
  readonly #flow: Flow;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #options: LevelOptions;
  /** The plan of arrivals, if there is one; it repeats. */
  readonly plan: ArrivalPlan | undefined;
  #failures: readonly FailureTally[] = [];
  #isDrained = false;
  /** Ends the current pause. */
  #wake = (): void => undefined;

  /** Sends at most `mostRequests` in total. */
  constructor(options: LevelOptions, mostRequests = Number.POSITIVE_INFINITY) {
    this.#options = options;
    this.#clock = options.clock;
    this.#signal = options.signal;
    const { level, requests, sequences, openLoop, scheduleAt, limits } = options;
    const schedule = level.mode === 'request-rate' ? scheduleAt?.(level.value) : undefined;
    const order = { level, requests, sequences, openLoop, limits, mostRequests, schedule };
    this.plan = schedule?.kind === 'arrivals' ? schedule.plan : undefined;
    this.#flow = options.openFlow?.(order) ?? localFlow(order, options);
  }

  start(): void {
    throwIfInterrupted(this.#signal);
    this.#flow.start();
  }

  /** As `Flow.startNs`. */
  get startNs(): number | null {
    return this.#flow.startNs;
  }

  get sent(): number {
    return this.#flow.sent;
  }

  get mostInFlight(): number {
    return this.#flow.mostInFlight;
  }

  /** As `Flow.due`. */
  get due(): number | null {
    return this.#flow.due;
  }

  /** As `Flow.dueByNow`. */
  get dueByNow(): number | null {
    return this.#flow.dueByNow;
  }

  /** As `Flow.takeTally`. */
  takeTally(): Promise<SendTally | null> {
    return this.#flow.takeTally();
  }

  /** The failures of the last batch that had some, whether it counts or was part of the warm-up. */
  get failures(): readonly FailureTally[] {
    return this.#failures;
  }

  /** True if more requests have failed since `record` than the options allow. */
  get tooManyErrors(): boolean {
    return this.#flow.failedSoFar > (this.#options.maxErrors ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Records completed requests in consecutive batches of this rule, from the next completion or
   * from `startNs`.
   */
  record(rule: BatchRule, onBatch: (batch: Batch) => void, startNs: number | null = null): void {
    const take = (batch: Batch): void => {
      if (batch.failures) this.#failures = batch.failures;
      onBatch(batch);
      this.#wake();
    };
    this.#flow.record(rule, take, startNs);
  }

  /** Stops counting; later completions are not recorded. */
  stopRecording(): void {
    this.#flow.stopRecording();
  }

  /**
   * Waits until `reached` holds, `limitNs` have passed, the options' time is up, or too many
   * requests have failed. Unless `reached` holds, ends the open batch if it has anything. Errors:
   * INTERRUPTED; SERVER_UNREACHABLE; CLIENT_FAILED.
   */
  async waitUntil(reached: () => boolean, limitNs: number): Promise<void> {
    const endNs = Math.min(this.#clock.nowNs() + limitNs, this.#untilNs);
    while (!reached()) {
      await this.#pause();
      this.#flow.check();
      const nowNs = this.#clock.nowNs();
      this.#checkReachable(nowNs);
      if ((nowNs >= endNs || this.tooManyErrors) && !reached()) return this.#flow.closeBatch();
    }
  }

  /**
   * If connections are being refused, waits until it is clear whether the server is gone. Errors:
   * as `waitUntil`.
   */
  async confirmReachable(): Promise<void> {
    while (this.#flow.unserved !== null) {
      await this.#pause();
      this.#flow.check();
      this.#checkReachable(this.#clock.nowNs());
    }
  }

  /**
   * Stops sending and waits, for a limited time, for requests in flight. Further calls do nothing.
   */
  async drain(): Promise<void> {
    if (this.#isDrained) return;
    const { drainMs, level } = this.#options;
    const patientMs = drainMs ?? (level.mode === 'concurrency' ? DEFAULT_DRAIN_MS : DEFAULT_OPEN_DRAIN_MS);
    const leftMs = Math.max(LATE_DRAIN_MS, nsToMs(this.#untilNs - this.#clock.nowNs()));
    const limitMs = this.#signal.aborted ? INTERRUPTED_DRAIN_MS : Math.min(patientMs, leftMs);
    await this.#flow.drain(limitMs);
    this.#isDrained = true;
  }

  /** True if the time of the measurement is up. */
  get isTimeUp(): boolean {
    return this.#clock.nowNs() >= this.#untilNs;
  }

  get #untilNs(): number {
    return this.#options.untilNs ?? Number.POSITIVE_INFINITY;
  }

  /** Waits until the next batch or the next check. */
  async #pause(): Promise<void> {
    const batch = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const slept = this.#clock.sleep(LOOK_MS, this.#signal);
    // If a batch arrives first, nothing awaits this any more.
    slept.catch(() => undefined);
    try {
      await Promise.race([batch, slept]);
    } catch (error) {
      throw this.#signal.aborted ? interrupted(this.#signal) : error;
    }
  }

  #checkReachable(nowNs: number): void {
    const { unserved } = this.#flow;
    const limitMs = this.#options.unreachableMs ?? DEFAULT_UNREACHABLE_MS;
    if (unserved === null || nowNs - unserved.sinceNs < msToNs(limitMs)) return;
    throw new TrituneError(
      'SERVER_UNREACHABLE',
      `the server accepted no request for ${limitMs / MS_PER_S} s: ${unserved.message}`,
      'check whether it is running, and read its log if it has ended',
    );
  }
}
