import { TrituneError } from '#base/errors.ts';
import { type BatcherPolicy, checkInstanceCount, checkPolicy } from './batcher-policy.ts';
import { type Execution, ExecutionView } from './execution.ts';
import { FormingRules } from './forming-rules.ts';
import { Instances } from './instances.ts';
import { NumberRing, RequestRing } from './ring.ts';

/**
 * Triton's scheduler of one model version, without a clock: its driver reports events and their
 * times, which never decrease. After each of `arrive`, `complete`, `wake` and `setInstances` the
 * driver
 *
 * 1. calls `takeStarted()` until it returns undefined; each value is an execution that began at
 *    that very moment, and the driver decides when it ends (then it calls `complete` with its
 *    instance);
 *
 * 2. reads `nextWakeNs` and calls `wake(now)` at that time, unless `nextWakeNs` has changed by
 *    then. A call that comes too early does nothing; a late one acts late, as a real server would.
 *
 * Requests are executed in order of arrival. Not modelled: priorities, queue timeouts, inputs of
 * differing shapes, and Triton's check every 500 ms, which only matters when an execution takes
 * longer than that.
 */
export interface Batcher {
  /**
   * A request joins the queue. Throws INPUT_INVALID when it has more samples than a batch may have.
   */
  arrive(nowNs: number, requestId: number, samples: number): void;
  /** The execution that ran on the instance has ended. */
  complete(nowNs: number, instance: number): void;
  /** The time in `nextWakeNs` has come. */
  wake(nowNs: number): void;
  /**
   * Changes the number of instances in place, as Triton does: surplus busy ones end their execution
   * first.
   */
  setInstances(nowNs: number, instances: number): void;
  takeStarted(): Execution | undefined;
  /** Infinity when nothing needs to be woken. */
  readonly nextWakeNs: number;
  /** Requests that have arrived and are not yet executing. */
  readonly waitingRequests: number;
  readonly busyInstances: number;
}

/**
 * Creates an empty batcher. Throws CONFIG_INVALID for a policy that Triton would refuse. The
 * algorithm is that of Triton's dynamic batch scheduler (releases 24.10 to 26.09, rate limiter
 * off): a growing batch, a queue of up to two formed batches per instance, and merging of overdue
 * batches when an instance takes one.
 */
export function createBatcher(policy: BatcherPolicy): Batcher {
  checkPolicy(policy);
  return new TritonBatcher(policy);
}

/** The state of the current batch: empty, formed but still growing, or handed over. */
type Current = 'empty' | 'growing' | 'gone';

class TritonBatcher implements Batcher {
  nextWakeNs = Number.POSITIVE_INFINITY;

  readonly #batching: boolean;
  readonly #prefetch: boolean;
  readonly #rules: FormingRules;

  /** All requests in order of arrival: [started, not yet taken | in formed batches | queued]. */
  readonly #requests = new RequestRing();
  readonly #instances: Instances;
  /** Position of the first request that is in no batch yet. */
  #queueStart = 0;
  #queuedSamples = 0;
  /** Position of the first request that is not executing. */
  #formedStart = 0;
  /**
   * Formed batches, oldest first: one past their last position, and their samples. The last one may
   * be `current`.
   */
  readonly #formedEnds = new NumberRing();
  readonly #formedSamples = new NumberRing();

  #current: Current = 'empty';
  #waitsForSlot = false;

  readonly #startedInstances = new NumberRing();
  readonly #startedEnds = new NumberRing();
  readonly #startedSamples = new NumberRing();
  readonly #view: ExecutionView;

  constructor(policy: BatcherPolicy) {
    this.#batching = policy.dynamicBatching;
    this.#prefetch = policy.prefetch ?? true;
    this.#rules = new FormingRules(policy);
    this.#instances = new Instances(policy.instances);
    this.#view = new ExecutionView(this.#requests);
  }

  get waitingRequests(): number {
    return this.#requests.end - this.#formedStart;
  }

  get busyInstances(): number {
    return this.#instances.busy;
  }

  arrive(nowNs: number, requestId: number, samples: number): void {
    if (!(samples >= 1 && samples <= this.#rules.maxSamples)) {
      throw new TrituneError(
        'INPUT_INVALID',
        `a request has ${samples} samples, and a batch of this model may have 1 to ${this.#rules.maxSamples}`,
        'send smaller requests or raise max_batch_size',
      );
    }
    this.#requests.push(requestId, samples, nowNs);
    if (!this.#batching) {
      this.#queueStart++;
      this.#pushFormed(samples);
      this.#dispatch(nowNs);
      return;
    }
    this.#queuedSamples += samples;
    const isPreferred =
      this.#rules.isSaturated || this.#current === 'gone' || this.#queuedSamples >= this.#rules.samplesToWake;
    if (isPreferred && this.#hasSlot()) this.#notify(nowNs);
  }

  complete(nowNs: number, instance: number): void {
    this.#instances.release(instance);
    this.#dispatch(nowNs);
    this.#notify(nowNs);
  }

  wake(nowNs: number): void {
    if (nowNs >= this.nextWakeNs) this.#formBatches(nowNs);
  }

  setInstances(nowNs: number, instances: number): void {
    checkInstanceCount(instances);
    this.#instances.resize(instances);
    this.#dispatch(nowNs);
    this.#notify(nowNs);
  }

  takeStarted(): Execution | undefined {
    this.#requests.releaseTo(this.#view.end);
    if (this.#startedInstances.length === 0) return undefined;
    this.#view.show(this.#startedInstances.shift(), this.#startedSamples.shift(), this.#startedEnds.shift());
    return this.#view;
  }

  /** True if one more batch may be formed. */
  #hasSlot(): boolean {
    const formed = this.#formedEnds.length;
    return this.#prefetch ? formed < 2 * this.#instances.count : this.#instances.idle > formed;
  }

  #notify(nowNs: number): void {
    if (!this.#batching || (this.#waitsForSlot && !this.#hasSlot())) return;
    this.#formBatches(nowNs);
  }

  /**
   * Triton's batcher thread: forms batches until it has to wait, for requests, for a slot, or for
   * the delay to pass.
   */
  #formBatches(nowNs: number): void {
    this.nextWakeNs = Number.POSITIVE_INFINITY;
    for (;;) {
      if (this.#rules.isSaturated || this.#current === 'gone') {
        this.#current = 'empty';
        this.#rules.startBatch();
      }
      const queueIsEmpty = this.#queueStart === this.#requests.end;
      this.#waitsForSlot = !queueIsEmpty && !this.#hasSlot();
      if (queueIsEmpty || this.#waitsForSlot) return;
      const held = this.#current === 'growing' ? this.#formedSamples.last() : 0;
      const requests = this.#rules.choose(this.#requests, this.#queueStart, held, nowNs);
      if (requests < 0) {
        this.nextWakeNs = this.#requests.enqueuedNs(this.#queueStart) + this.#rules.delayNs;
        return;
      }
      this.#moveToCurrent(requests, nowNs);
    }
  }

  #moveToCurrent(requests: number, nowNs: number): void {
    if (requests === 0) return;
    let samples = 0;
    for (let left = requests; left > 0; left--) samples += this.#requests.samples(this.#queueStart++);
    this.#queuedSamples -= samples;
    if (this.#current === 'growing') {
      this.#formedEnds.setLast(this.#queueStart);
      this.#formedSamples.setLast(this.#formedSamples.last() + samples);
      return;
    }
    this.#current = 'growing';
    this.#pushFormed(samples);
    this.#dispatch(nowNs);
  }

  #pushFormed(samples: number): void {
    this.#formedEnds.push(this.#queueStart);
    this.#formedSamples.push(samples);
  }

  /**
   * Triton's instance threads: every idle one takes the oldest formed batch, and overdue ones that
   * fit into it.
   */
  #dispatch(nowNs: number): void {
    while (this.#instances.idle > 0 && this.#formedEnds.length > 0) {
      const instance = this.#instances.take();
      this.#freezeFirst();
      let samples = this.#formedSamples.shift();
      this.#formedStart = this.#formedEnds.shift();
      while (this.#rules.delayNs > 0 && this.#rules.maxSamples > 1 && this.#firstFormedIsOverdue(nowNs)) {
        // Triton stops the growth of the next batch before it checks whether it fits.
        this.#freezeFirst();
        if (samples + this.#formedSamples.first() > this.#rules.maxSamples) break;
        samples += this.#formedSamples.shift();
        this.#formedStart = this.#formedEnds.shift();
      }
      this.#startedInstances.push(instance);
      this.#startedSamples.push(samples);
      this.#startedEnds.push(this.#formedStart);
    }
  }

  #firstFormedIsOverdue(nowNs: number): boolean {
    return this.#formedEnds.length > 0 && nowNs > this.#requests.enqueuedNs(this.#formedStart) + this.#rules.delayNs;
  }

  /** The oldest formed batch gets no more requests. */
  #freezeFirst(): void {
    if (this.#formedEnds.length === 1 && this.#current === 'growing') this.#current = 'gone';
  }
}
