import { NS_PER_MS, nsToMs } from '#base/units.ts';
import { createBatcher } from '#queueing/batcher.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import type { Execution } from '#queueing/execution.ts';
import { splitExecution } from '#queueing/service-law.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { EmulatedModelSimulator } from '../scheduling/model-simulator.ts';
import type { Placement } from '../scheduling/placement.ts';
import type { ExecutionEvent, Processor } from '../scheduling/processor.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { SequenceScheduler } from '../scheduling/sequence-scheduler.ts';
import type { WarmUp } from '../scheduling/warm-up.ts';
import { type ModelSignature, toSignature } from '../wire/infer-call.ts';
import { ProtocolFailure, requestTag } from '../wire/protocol-failure.ts';
import { AnswerCache } from './answer-cache.ts';
import { runBlsCalls } from './bls-calls.ts';
import { isDecoupledConfig, type Job, type Servable } from './servable.ts';
import type { SharedParts } from './surroundings.ts';
import { VersionStatistics } from './version-statistics.ts';

export interface VersionOptions {
  readonly model: string;
  readonly version: string;
  readonly placement: Placement;
  readonly simulator: EmulatedModelSimulator;
  /** The work of its instances before it serves. */
  readonly warmUp: WarmUp;
  /** Returns the serving version of another model, for BLS. Throws NOT_FOUND. */
  readonly findServing: (model: string, version: string) => Servable;
  /** The model's counters for the metrics endpoint, which outlive the version. */
  readonly lifetime: VersionStatistics;
}

interface Ticket {
  readonly job: Job;
  readonly enqueuedNs: number;
}

/** An execution whose answers are being sent. */
interface Ending {
  readonly instance: number;
  readonly gpu: number | null;
  readonly batchSize: number;
  readonly tickets: readonly Ticket[];
  readonly startNs: number;
  /** Time between the sending of the answers and its end. */
  readonly leadNs: number;
}

/** Returns the dynamic batcher, or the sequence batcher if the config asks for it. */
function createScheduler({ model, placement: { config, instances } }: VersionOptions, lanes: Lanes): Scheduler {
  if (config.sequence_batching) return new SequenceScheduler(model, config, instances);
  return createBatcher(toPolicy(config, lanes.length));
}

/** The GPU of each instance that may execute; null for the CPU of a machine with GPUs. */
type Lanes = Placement['gpuOf'];

/** Returns the instances that execute at once: on each GPU as many as it allows. */
function listLanes({ gpuOf, config }: Placement, { atOnce }: EmulatedModelSimulator): Lanes {
  if (config.sequence_batching) return gpuOf;
  return gpuOf.filter((gpu, index) => gpuOf.slice(0, index).filter((each) => each === gpu).length < atOnce);
}

/**
 * One loaded model version: the dynamic batcher groups requests, and each execution takes as long
 * as the model's simulator says, in real time. Statistics hold the times that really passed.
 */
export class ServedVersion implements Servable {
  readonly model: string;
  readonly version: string;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  readonly isDecoupled: boolean;
  readonly encoded = new AnswerCache();
  config: ModelConfig;

  readonly #lifetime: VersionStatistics;
  readonly #simulator: EmulatedModelSimulator;
  readonly #findServing: VersionOptions['findServing'];
  readonly #around: SharedParts;
  readonly #batcher: Scheduler;
  /** `max_queue_size`; Infinity without one. */
  readonly #mostQueued: number;
  readonly #tickets: (Ticket | undefined)[] = [];
  readonly #freeIds: number[] = [];
  readonly #warm = new Set<number>();
  readonly #warmSizes = new Set<string>();
  #lanes: Lanes;
  /** Instances that execute, by GPU. */
  readonly #busyOn = new Map<number | null, number>();
  #wakeNs = Number.POSITIVE_INFINITY;
  #cancelWake = (): void => undefined;
  #onDrained: (() => void)[] = [];

  constructor(options: VersionOptions, around: SharedParts) {
    this.model = options.model;
    this.version = options.version;
    this.config = options.placement.config;
    this.signature = toSignature(options.model, this.config);
    this.statistics = new VersionStatistics(around.clock);
    this.#lifetime = options.lifetime;
    this.#simulator = options.simulator;
    this.#findServing = options.findServing;
    this.#around = around;
    this.#lanes = listLanes(options.placement, options.simulator);
    this.isDecoupled = isDecoupledConfig(this.config);
    this.#batcher = createScheduler(options, this.#lanes);
    this.#mostQueued = mostQueued(this.config);
    this.#warmedUp(0, options.placement.instances, options.warmUp);
  }

  get waitingRequests(): number {
    return this.#batcher.waitingRequests;
  }

  submit(job: Job): void {
    if (this.#batcher.waitingRequests >= this.#mostQueued)
      throw new ProtocolFailure('UNAVAILABLE', `${requestTag(job.id)}Exceeds maximum queue size`);
    const enqueuedNs = this.#around.clock.nowNs();
    const id = this.#freeIds.pop() ?? this.#tickets.length;
    this.#tickets[id] = { job, enqueuedNs };
    try {
      this.#batcher.arrive(enqueuedNs, id, job.samples, job.sequence);
    } catch (error) {
      this.#freeIds.push(id);
      throw error;
    }
    this.#advance();
  }

  setInstances(placement: Placement, before: number, warmUp: WarmUp): void {
    const { instances } = placement;
    this.config = placement.config;
    this.#lanes = listLanes(placement, this.#simulator);
    this.#warmedUp(before, instances, warmUp);
    for (const instance of this.#warm) if (instance >= instances) this.#warm.delete(instance);
    for (const size of this.#warmSizes) if (Number.parseInt(size, 10) >= instances) this.#warmSizes.delete(size);
    this.#batcher.setInstances(this.#around.clock.nowNs(), this.#lanes.length);
    this.#advance();
  }

  drained(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  #isIdle(): boolean {
    return this.#batcher.waitingRequests === 0 && this.#batcher.busyInstances === 0;
  }

  /**
   * Drives the batcher: runs the executions that it has started, and wakes it when it asks for
   * that.
   */
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
    const gpu = this.#lanes[instance] ?? null;
    this.#busyOn.set(gpu, (this.#busyOn.get(gpu) ?? 0) + 1);
    const tickets: Ticket[] = [];
    for (let index = 0; index < execution.requestCount; index += 1) {
      const id = execution.requestId(index);
      tickets.push(this.#tickets[id] as Ticket);
      this.#tickets[id] = undefined;
      this.#freeIds.push(id);
    }
    const startNs = this.#around.clock.nowNs();
    const durationNs =
      this.#simulator.executionNs(batchSize, this.#busyBeside(gpu)) + this.#coldNs(instance, batchSize);
    const leadNs = Math.min(this.#simulator.answerLeadMs * NS_PER_MS, durationNs);
    const end = (failure: ProtocolFailure | null): void =>
      this.#finish({ instance, gpu, batchSize, tickets, startNs, leadNs }, failure);
    const worked = { atNs: durationNs - leadNs, action: () => this.#call(tickets, end) };
    this.#chooseProcessor(gpu).run({
      owner: this,
      share: this.#simulator.deviceShare,
      moments: [...(this.isDecoupled ? this.#responses(tickets, durationNs, worked.atNs) : []), worked],
    });
  }

  /**
   * Returns the number of busy instances on the GPU of a starting one, itself included. Those that
   * start at the same moment count if all are on one GPU.
   */
  #busyBeside(gpu: number | null): number {
    const busy = this.#busyOn.get(gpu) ?? 1;
    return this.#lanes.every((each) => each === gpu) ? this.#batcher.busyInstances : busy;
  }

  #chooseProcessor(gpu: number | null): Processor {
    const { processors, host } = this.#around;
    return gpu === null ? host : (processors[gpu] ?? host);
  }

  /** Calls the other models of a BLS model, whose instance waits for them. */
  #call(tickets: readonly Ticket[], end: (failure: ProtocolFailure | null) => void): void {
    const { bls } = this.#simulator;
    const samples = tickets.map(({ job }) => job.samples);
    if (bls) runBlsCalls(this.model, bls, samples, this.#findServing, end);
    else end(null);
  }

  /**
   * Triton counts these executions like any other, with a request for each sample of the batch
   * (checked on 2.51).
   */
  #warmedUp(from: number, to: number, { samples }: WarmUp): void {
    for (const { batchSize, executions, executionNs } of samples) {
      const compute = splitExecution(this.#simulator, executionNs);
      const times = executions * Math.max(0, to - from);
      for (const counters of times > 0 ? [this.statistics, this.#lifetime] : []) {
        counters.executed(batchSize, compute, times);
        counters.succeeded(1, 0, compute, executionNs, times * batchSize);
      }
      for (let instance = from; instance < to; instance++) {
        this.#warm.add(instance);
        this.#warmSizes.add(`${instance} ${batchSize}`);
      }
    }
  }

  /** Returns the extra time of the first execution of an instance, and of a batch size on it. */
  #coldNs(instance: number, batchSize: number): number {
    const { engines, clock } = this.#around;
    const { firstOfSizeMs } = this.#simulator;
    let ms = this.#warm.has(instance) ? 0 : engines.firstExecutionMs(this.#simulator, clock.nowNs());
    this.#warm.add(instance);
    if (firstOfSizeMs > 0) {
      const size = `${instance} ${batchSize}`;
      if (!this.#warmSizes.has(size)) ms += firstOfSizeMs;
      this.#warmSizes.add(size);
    }
    return ms * NS_PER_MS;
  }

  /** All responses but the last, which comes with the end of the execution. */
  #responses(tickets: readonly Ticket[], durationNs: number, lastNs: number): ExecutionEvent[] {
    const { responses, networkMs } = this.#simulator;
    const respond = (): void => {
      for (const { job } of tickets) job.respond?.();
    };
    return Array.from({ length: Math.max(0, responses - 1) }, (_, index) => ({
      atNs: Math.min(lastNs, (durationNs * (index + 1)) / responses),
      action: () => this.#after(networkMs, this.#around.clock.nowNs(), respond),
    }));
  }

  /** The answers leave; the execution ends, by the statistics, `leadNs` later. */
  #finish({ instance, gpu, batchSize, tickets, startNs, leadNs }: Ending, failure: ProtocolFailure | null): void {
    const leaveNs = this.#around.clock.nowNs();
    const endNs = leaveNs + leadNs;
    const compute = splitExecution(this.#simulator, endNs - startNs);
    for (const counters of [this.statistics, this.#lifetime]) {
      counters.executed(batchSize, compute);
      for (const { job, enqueuedNs } of tickets) {
        if (failure) counters.failed(endNs - enqueuedNs);
        else counters.succeeded(job.samples, startNs - enqueuedNs, compute, endNs - enqueuedNs);
      }
    }
    const { turnaroundMs, networkMs } = this.#simulator;
    // The next execution starts before the answers are written, as instances do not wait for the
    // front end.
    this.#after(turnaroundMs + nsToMs(leadNs), leaveNs, () => this.#free(instance, gpu));
    this.#after(networkMs, leaveNs, () => {
      for (const { job } of tickets) {
        if (!failure && this.isDecoupled && this.#simulator.responses > 0) job.respond?.();
        job.done(failure, failure ? null : compute);
      }
    });
  }

  #free(instance: number, gpu: number | null): void {
    this.#busyOn.set(gpu, (this.#busyOn.get(gpu) ?? 1) - 1);
    this.#batcher.complete(this.#around.clock.nowNs(), instance);
    this.#advance();
    if (this.#onDrained.length > 0 && this.#isIdle()) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  #after(ms: number, fromNs: number, action: () => void): void {
    if (ms === 0) action();
    else this.#around.wakeUps.at(fromNs + ms * NS_PER_MS, action);
  }
}

/**
 * The batcher's queue is counted as Triton's without prefetch, which is what a queue policy brings.
 */
function mostQueued({ dynamic_batching: batching }: ModelConfig): number {
  const policy = batching?.default_queue_policy as { readonly max_queue_size?: number } | undefined;
  return Number(policy?.max_queue_size ?? 0) || Number.POSITIVE_INFINITY;
}
