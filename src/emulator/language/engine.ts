import type { Clock } from '#base/clock.ts';
import { NS_PER_MS } from '#base/units.ts';
import { ContinuousBatcher } from '#queueing/continuous/continuous-batcher.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { EngineStep } from '#queueing/continuous/step.ts';
import type { StepLaw } from '#queueing/continuous/step-law.ts';
import type { WakeUps } from '../scheduling/wake-ups.ts';
import { EngineCounters, type FinishReason } from './engine-figures.ts';
import { PrefixBlocks } from './prefix-blocks.ts';

/**
 * A request to an engine. The answer is known from the start: only the time that it takes matters.
 */
export interface Generation {
  readonly prompt: readonly string[];
  /** At least one token. */
  readonly output: readonly string[];
  readonly finish: FinishReason;
}

/** A generation in progress. */
export interface Submitted {
  /** Tokens of its prompt that need not be computed; 0 until it is admitted. */
  readonly cachedTokens: number;
  /** Cancels it; does nothing after its end. */
  cancel(): void;
}

export interface GenerationListener {
  /** Called when the token with this number, from 0, is ready. */
  token(index: number): void;
}

interface Running extends Submitted {
  readonly generation: Generation;
  readonly listener: GenerationListener;
  readonly arrivedNs: number;
  cachedTokens: number;
  emitted: number;
  lastNs: number;
}

/** An engine that falls behind by more, because its thread was delayed, does not catch up. */
const MAX_BEHIND_NS = 50 * NS_PER_MS;

/**
 * A language model's engine in real time: the scheduler of `ContinuousBatcher`, whose steps take
 * the time of their law. Tokens arrive at the ends of steps. A step begins when the previous one
 * has ended by the law, even if the event loop reported that a moment later.
 */
export class LanguageEngine {
  readonly policy: ContinuousPolicy;
  readonly figures = new EngineCounters();
  readonly #batcher: ContinuousBatcher;
  readonly #blocks: PrefixBlocks;
  readonly #clock: Clock;
  readonly #wakeUps: WakeUps;
  readonly #running = new Map<number, Running>();
  #isStepping = false;
  #onDrained: (() => void)[] = [];

  /**
   * `spread` draws a factor for each step's time. Throws INPUT_INVALID for a policy under which
   * nothing can run.
   */
  constructor(
    {
      policy,
      law,
      spread,
    }: { readonly policy: ContinuousPolicy; readonly law: StepLaw; readonly spread: () => number },
    { clock, wakeUps }: { readonly clock: Clock; readonly wakeUps: WakeUps },
  ) {
    this.policy = policy;
    this.#batcher = new ContinuousBatcher(policy, law, spread);
    this.#blocks = new PrefixBlocks(policy.kvCacheTokens);
    this.#clock = clock;
    this.#wakeUps = wakeUps;
  }

  get running(): number {
    return this.#batcher.running;
  }

  get waiting(): number {
    return this.#batcher.waiting;
  }

  get kvCacheShare(): number {
    return this.#batcher.kvCacheShare;
  }

  get preemptions(): number {
    return this.#batcher.preemptions;
  }

  /** Starts a generation. Throws INPUT_INVALID if the KV cache has no room for it. */
  submit(generation: Generation, listener: GenerationListener): Submitted {
    const { prompt, output } = generation;
    const cachedTokens = this.policy.cachesPrefixes ? this.#blocks.known(prompt) : 0;
    const id = this.#batcher.enqueue({ inputTokens: prompt.length, outputTokens: output.length, cachedTokens });
    const arrivedNs = this.#clock.nowNs();
    const cancel = (): void => {
      if (!this.#running.delete(id)) return;
      this.#batcher.cancel(id);
      this.figures.finished('abort', this.#clock.nowNs() - arrivedNs);
      this.#settle();
    };
    const running = { generation, listener, arrivedNs, cachedTokens: 0, emitted: 0, lastNs: arrivedNs, cancel };
    this.#running.set(id, running);
    this.#step(arrivedNs);
    return running;
  }

  /** Resolves once nothing is running or waiting. */
  drained(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  #step(nowNs: number): void {
    if (this.#isStepping) return;
    const step = this.#batcher.step(nowNs);
    if (!step) return;
    this.#isStepping = true;
    this.#admitted(step, nowNs);
    // Its lists are valid until the next call to the batcher, and a cancellation calls it.
    const emitted = [...step.emitted];
    this.#wakeUps.at(step.endNs, () => {
      this.figures.stepped(step.work);
      for (const id of emitted) this.#emit(id, step.endNs);
      this.#isStepping = false;
      this.#settle();
      this.#step(Math.max(step.endNs, this.#clock.nowNs() - MAX_BEHIND_NS));
    });
  }

  #admitted({ admitted }: EngineStep, nowNs: number): void {
    for (const { id, cachedTokens } of admitted) {
      const running = this.#running.get(id);
      // Again after a preemption: its prompt was already counted.
      if (!running || running.emitted > 0) continue;
      running.cachedTokens = cachedTokens;
      this.figures.admitted(running.generation.prompt.length, cachedTokens, nowNs - running.arrivedNs);
    }
  }

  #emit(id: number, endNs: number): void {
    const running = this.#running.get(id);
    if (!running) return;
    const { generation, listener, arrivedNs, lastNs } = running;
    const index = running.emitted++;
    running.lastNs = endNs;
    this.figures.emitted(index === 0 ? endNs - arrivedNs : null, endNs - lastNs);
    if (index === 0) this.#remember(generation.prompt);
    if (running.emitted === generation.output.length) {
      this.#running.delete(id);
      // The prompt of the conversation's next turn includes the answer.
      this.#remember([...generation.prompt, ...generation.output]);
      this.figures.finished(generation.finish, endNs - arrivedNs);
    }
    listener.token(index);
  }

  #remember(tokens: readonly string[]): void {
    if (this.policy.cachesPrefixes) this.#blocks.add(tokens);
  }

  #settle(): void {
    if (this.#running.size === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }
}
