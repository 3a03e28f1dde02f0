import { type Batcher, createBatcher } from './batcher.ts';
import { type BatcherPolicy, busyBeside } from './batcher-policy.ts';
import { computeMeanTimes } from './mean-times.ts';
import { grown } from './ring.ts';
import type { ServiceLaw } from './service-law.ts';

/**
 * A model's batcher and instances in virtual time, and the execution of each instance. Its driver
 * keeps the clock: after `arrive`, `complete` and `wake` it calls `takeStarted` until that returns
 * −1, and then reads `wakeToPlan`.
 *
 * Requests are numbered from 0 in the order of arrival. They are executed in that order, so a batch
 * is a range of numbers.
 */
export class Station {
  /** The most instances that execute at once. */
  readonly instances: number;
  readonly law: ServiceLaw;
  /** Read-only: only the station reports events to it. */
  readonly batcher: Batcher;
  /**
   * By instance: the first request of its batch, the batch's requests and samples, and its start.
   */
  readonly first: Int32Array;
  readonly count: Int32Array;
  readonly batchSize: Int32Array;
  readonly startNs: Float64Array;
  /** By request: its arrival. */
  queuedNs: Float64Array;
  readonly #spread: () => number;
  readonly #devices: number;
  readonly #times: ReturnType<typeof computeMeanTimes>;
  #arrived = 0;
  #taken = 0;
  #plannedWakeNs = Number.NaN;

  /**
   * `spread`: draws a factor on the time of each execution. `expected`: requests to expect; more
   * may come. Throws CONFIG_INVALID for a policy that Triton would refuse.
   */
  constructor(policy: BatcherPolicy, law: ServiceLaw, spread: () => number, expected: number) {
    const { instances, devices = 1 } = policy;
    this.instances = law.atOnce === undefined ? instances : Math.min(instances, law.atOnce * devices);
    this.#devices = devices;
    this.law = law;
    this.#times = computeMeanTimes(law);
    this.batcher = createBatcher({ ...policy, instances: this.instances });
    this.#spread = spread;
    this.queuedNs = new Float64Array(expected);
    this.first = new Int32Array(this.instances);
    this.count = new Int32Array(this.instances);
    this.batchSize = new Int32Array(this.instances);
    this.startNs = new Float64Array(this.instances);
  }

  /**
   * Takes a request and returns its number. Throws INPUT_INVALID when it has more samples than a
   * batch may have.
   */
  arrive(nowNs: number, samples: number): number {
    const request = this.#arrived++;
    if (request === this.queuedNs.length) this.queuedNs = grown(this.queuedNs);
    this.queuedNs[request] = nowNs;
    this.batcher.arrive(nowNs, request, samples);
    return request;
  }

  /**
   * Returns the next instance that has started an execution at this very moment; −1 if there are no
   * more.
   */
  takeStarted(nowNs: number): number {
    const started = this.batcher.takeStarted();
    if (started === undefined) return -1;
    const { instance, requestCount } = started;
    this.first[instance] = this.#taken;
    this.count[instance] = requestCount;
    this.#taken += requestCount;
    this.batchSize[instance] = started.batchSize;
    this.startNs[instance] = nowNs;
    return instance;
  }

  /**
   * Draws the time of the execution that has just started on the instance, with `running` instances
   * busy, itself included.
   */
  drawExecutionNs(instance: number, running: number): number {
    return this.#times.executionNs(this.batchSize[instance] as number, this.besides(running)) * this.#spread();
  }

  /** Returns the mean number of this many busy instances that share a device. */
  besides(running: number): number {
    return this.#devices === 1 ? running : busyBeside({ instances: this.instances, devices: this.#devices }, running);
  }

  /** The execution on the instance has ended. */
  complete(nowNs: number, instance: number): void {
    this.batcher.complete(nowNs, instance);
  }

  /**
   * Returns when to call `wake`; Infinity if it need not be called, or if the call is planned
   * already.
   */
  wakeToPlan(): number {
    const wakeNs = this.batcher.nextWakeNs;
    if (wakeNs === Number.POSITIVE_INFINITY || wakeNs === this.#plannedWakeNs) return Number.POSITIVE_INFINITY;
    this.#plannedWakeNs = wakeNs;
    return wakeNs;
  }

  /** A planned time has come; does nothing when the batcher no longer waits for it. */
  wake(nowNs: number): void {
    if (this.batcher.nextWakeNs === nowNs) this.batcher.wake(nowNs);
  }
}
