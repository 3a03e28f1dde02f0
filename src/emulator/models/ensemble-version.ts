import type { Clock } from '#base/clock.ts';
import type { ExecutionSplit } from '#queueing/service-law.ts';
import { ensembleSteps } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Placement } from '../scheduling/placement.ts';
import { type ModelSignature, toSignature } from '../wire/infer-call.ts';
import { asProtocolFailure, ProtocolFailure, requestTag } from '../wire/protocol-failure.ts';
import { AnswerCache } from './answer-cache.ts';
import { isDecoupledConfig, type Job, type Servable } from './servable.ts';
import { VersionStatistics } from './version-statistics.ts';

interface Step {
  readonly model: string;
  readonly version: string;
  /** Names of the ensemble's tensors. */
  readonly needs: readonly string[];
  readonly gives: readonly string[];
}

export interface EnsembleOptions {
  readonly model: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly lifetime: VersionStatistics;
  readonly clock: Clock;
  /** Returns the serving version of a composing model. Throws NOT_FOUND. */
  serving(model: string, version: string): Servable;
}

/**
 * An ensemble: a request passes through its steps in the composing models' own queues, each step as
 * soon as its input tensors exist. Its statistics are Triton's: no queue of its own, and the sum of
 * the compute times of all steps.
 */
export class EnsembleVersion implements Servable {
  readonly model: string;
  readonly version: string;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  readonly isDecoupled: boolean;
  readonly encoded = new AnswerCache();
  /** Requests wait in the models of its steps, and are counted there. */
  readonly waitingRequests = 0;
  config: ModelConfig;
  readonly #options: EnsembleOptions;
  readonly #steps: readonly Step[];
  #inFlight = 0;
  #onDrained: (() => void)[] = [];

  constructor(options: EnsembleOptions) {
    this.#options = options;
    this.model = options.model;
    this.version = options.version;
    this.config = options.config;
    this.signature = toSignature(options.model, options.config);
    this.statistics = new VersionStatistics(options.clock);
    this.isDecoupled = isDecoupledConfig(options.config);
    this.#steps = readSteps(options.config);
  }

  submit(job: Job): void {
    this.#inFlight++;
    new Passage(this.#steps, job, this.signature, this.#options, (failure, compute, totalNs) => {
      this.#inFlight--;
      for (const counters of [this.statistics, this.#options.lifetime]) {
        if (failure) {
          // Triton 2.51 counts a request twice if one of the steps fails it.
          counters.failed(totalNs);
          counters.failed(totalNs);
        } else {
          counters.executed(job.samples, compute);
          counters.succeeded(job.samples, 0, compute, totalNs);
        }
      }
      if (!failure && this.isDecoupled) job.respond?.();
      job.done(failure, compute);
      if (this.#inFlight === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
    }).start();
  }

  setInstances({ config }: Placement): void {
    this.config = config;
  }

  drained(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }
}

type PassageEnd = (failure: ProtocolFailure | null, compute: ExecutionSplit, totalNs: number) => void;

/** One request's passage through the steps. */
class Passage {
  readonly #left: Set<Step>;
  readonly #tensors: Set<string>;
  readonly #job: Job;
  readonly #options: EnsembleOptions;
  readonly #startNs: number;
  readonly #end: PassageEnd;
  #running = 0;
  #compute: ExecutionSplit = { inputNs: 0, inferNs: 0, outputNs: 0 };
  #failure: ProtocolFailure | null = null;

  constructor(steps: readonly Step[], job: Job, signature: ModelSignature, options: EnsembleOptions, end: PassageEnd) {
    this.#left = new Set(steps);
    this.#tensors = new Set(signature.inputs.map(({ name }) => name));
    this.#job = job;
    this.#options = options;
    this.#startNs = options.clock.nowNs();
    this.#end = end;
  }

  start(): void {
    for (const step of [...this.#left]) {
      if (this.#failure || !step.needs.every((name) => this.#tensors.has(name))) continue;
      this.#left.delete(step);
      this.#running++;
      this.#run(step);
    }
    if (this.#running === 0) this.#end(this.#failure, this.#compute, this.#options.clock.nowNs() - this.#startNs);
  }

  #run(step: Step): void {
    const { id, samples, sequence } = this.#job;
    try {
      const served = this.#options.serving(step.model, step.version);
      const { maxBatchSize } = served.signature;
      if (samples > Math.max(1, maxBatchSize))
        throw new ProtocolFailure(
          'INVALID_ARGUMENT',
          `${requestTag(id)}inference request batch-size must be <= ${maxBatchSize} for '${step.model}'`,
        );
      served.submit({ id, samples, sequence, done: (failure, compute) => this.#ended(step, failure, compute) });
    } catch (error) {
      // Other started steps continue; the request fails once they have ended.
      queueMicrotask(() => this.#ended(step, asProtocolFailure(error), null));
    }
  }

  #ended(step: Step, failure: ProtocolFailure | null, compute: ExecutionSplit | null): void {
    this.#running--;
    if (failure)
      this.#failure ??= new ProtocolFailure(failure.status, `in ensemble '${this.#options.model}', ${failure.message}`);
    if (compute) {
      this.#compute = {
        inputNs: this.#compute.inputNs + compute.inputNs,
        inferNs: this.#compute.inferNs + compute.inferNs,
        outputNs: this.#compute.outputNs + compute.outputNs,
      };
    }
    for (const name of step.gives) this.#tensors.add(name);
    this.start();
  }
}

function readSteps(config: ModelConfig): Step[] {
  return ensembleSteps(config).map((step) => ({
    model: step.model_name ?? '',
    version: Number(step.model_version ?? -1) < 0 ? '' : String(step.model_version),
    needs: Object.values(step.input_map ?? {}),
    gives: Object.values(step.output_map ?? {}),
  }));
}
