import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/units.ts';
import { type Batcher, createBatcher, type Execution } from '../queueing/batcher.ts';
import { policyOf } from '../queueing/batcher-policy.ts';
import { splitExecution } from '../queueing/service-law.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { Device } from './device.ts';
import { type ModelSignature, signatureOf } from './infer-call.ts';
import type { ModelPhysics } from './physics.ts';
import type { ProtocolFailure } from './protocol-failure.ts';
import { VersionStatistics } from './version-statistics.ts';
import type { WakeUps } from './wake-ups.ts';

/** What every model of one emulator shares. */
export interface Surroundings {
  readonly clock: Clock;
  readonly wakeUps: WakeUps;
  readonly device: Device;
  /** Aborts when the emulator closes: a load that goes on then ends. */
  readonly closing: AbortSignal;
}

export interface VersionOptions {
  readonly model: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly instances: number;
  readonly physics: ModelPhysics;
  /** The model's counters for the metrics endpoint, which outlive the version. */
  readonly lifetime: VersionStatistics;
}

/** `headerLength`: of the JSON in front of binary tensors, over HTTP; null without any. */
export interface EncodedAnswer {
  readonly body: Buffer;
  readonly headerLength: number | null;
}

interface Ticket {
  readonly samples: number;
  readonly enqueuedNs: number;
  readonly done: (failure: ProtocolFailure | null) => void;
}

/**
 * One loaded model version: requests go in, the dynamic batcher groups them, and each execution takes as long as the
 * model's physics says, in real time. Statistics hold the times that really passed.
 */
export class ServedVersion {
  readonly model: string;
  readonly version: string;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  /** Encoded answers by what was asked; the front ends fill it. */
  readonly encoded = new Map<string, EncodedAnswer>();
  config: ModelConfig;

  readonly #lifetime: VersionStatistics;
  readonly #physics: ModelPhysics;
  readonly #around: Surroundings;
  readonly #batcher: Batcher;
  readonly #tickets: (Ticket | undefined)[] = [];
  readonly #freeIds: number[] = [];
  readonly #warm = new Set<number>();
  #wakeNs = Number.POSITIVE_INFINITY;
  #cancelWake = (): void => undefined;
  #onDrained: (() => void)[] = [];

  constructor(options: VersionOptions, around: Surroundings) {
    this.model = options.model;
    this.version = options.version;
    this.config = options.config;
    this.signature = signatureOf(options.model, options.config);
    this.statistics = new VersionStatistics(around.clock);
    this.#lifetime = options.lifetime;
    this.#physics = options.physics;
    this.#around = around;
    this.#batcher = createBatcher(policyOf(options.config, options.instances));
  }

  /** Requests that are not executing yet. */
  get waitingRequests(): number {
    return this.#batcher.waitingRequests;
  }

  /** Queues a request of so many samples; `done` is called when its execution has ended. */
  submit(samples: number, done: Ticket['done']): void {
    const enqueuedNs = this.#around.clock.nowNs();
    const id = this.#freeIds.pop() ?? this.#tickets.length;
    this.#tickets[id] = { samples, enqueuedNs, done };
    this.#batcher.arrive(enqueuedNs, id, samples);
    this.#advance();
  }

  /** Changes instances in place: statistics stay, and so do the instances that remain. */
  setInstances(config: ModelConfig, instances: number): void {
    this.config = config;
    for (const instance of this.#warm) if (instance >= instances) this.#warm.delete(instance);
    this.#batcher.setInstances(this.#around.clock.nowNs(), instances);
    this.#advance();
  }

  /** Resolves when nothing is queued or executing any more. */
  drained(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  #isIdle(): boolean {
    return this.#batcher.waitingRequests === 0 && this.#batcher.busyInstances === 0;
  }

  /** What the batcher asks of its driver: start what it has started, and wake it when it wants to be woken. */
  #advance(): void {
    for (let started = this.#batcher.takeStarted(); started; started = this.#batcher.takeStarted())
      this.#start(started);
    const wakeNs = this.#batcher.nextWakeNs;
    if (wakeNs === this.#wakeNs) return;
    this.#cancelWake();
    this.#wakeNs = wakeNs;
    if (wakeNs === Number.POSITIVE_INFINITY) return;
    this.#cancelWake = this.#around.wakeUps.at(wakeNs, () => {
      this.#wakeNs = Number.POSITIVE_INFINITY;
      this.#batcher.wake(this.#around.clock.nowNs());
      this.#advance();
    });
  }

  #start(execution: Execution): void {
    const { instance, batchSize } = execution;
    const tickets: Ticket[] = [];
    for (let index = 0; index < execution.requestCount; index += 1) {
      const id = execution.requestId(index);
      tickets.push(this.#tickets[id] as Ticket);
      this.#tickets[id] = undefined;
      this.#freeIds.push(id);
    }
    const startNs = this.#around.clock.nowNs();
    let durationNs = this.#physics.executionNs(batchSize, this.#batcher.busyInstances);
    if (!this.#warm.has(instance)) durationNs += this.#physics.firstExecutionMs * NS_PER_MS;
    this.#warm.add(instance);
    this.#around.device.executionStarted();
    this.#around.wakeUps.at(startNs + durationNs, () => this.#finish(instance, batchSize, tickets, startNs));
  }

  #finish(instance: number, batchSize: number, tickets: readonly Ticket[], startNs: number): void {
    const endNs = this.#around.clock.nowNs();
    this.#around.device.executionEnded();
    const compute = splitExecution(this.#physics, endNs - startNs);
    for (const counters of [this.statistics, this.#lifetime]) {
      counters.executed(batchSize, compute);
      for (const { samples, enqueuedNs } of tickets) {
        counters.succeeded(samples, startNs - enqueuedNs, compute, endNs - enqueuedNs);
      }
    }
    const { turnaroundMs, networkMs } = this.#physics;
    // The next execution starts before the answers are written, as instances do not wait for the front end.
    this.#after(turnaroundMs, endNs, () => this.#free(instance));
    this.#after(networkMs, endNs, () => {
      for (const { done } of tickets) done(null);
    });
  }

  #free(instance: number): void {
    this.#batcher.complete(this.#around.clock.nowNs(), instance);
    this.#advance();
    if (this.#onDrained.length > 0 && this.#isIdle()) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  #after(ms: number, fromNs: number, action: () => void): void {
    if (ms === 0) action();
    else this.#around.wakeUps.at(fromNs + ms * NS_PER_MS, action);
  }
}
