import type { Clock } from '../../base/clock.ts';
import { NS_PER_MS } from '../../base/units.ts';
import { ContinuousBatcher } from '../../queueing/continuous/continuous-batcher.ts';
import type { ContinuousPolicy } from '../../queueing/continuous/policy.ts';
import type { Step } from '../../queueing/continuous/step.ts';
import type { StepLaw } from '../../queueing/continuous/step-law.ts';
import type { WakeUps } from '../scheduling/wake-ups.ts';
import { EngineFigures, type FinishReason } from './engine-figures.ts';
import { PrefixBlocks } from './prefix-blocks.ts';

/** What is asked of an engine. The answer is known from the start: the time that it takes is what counts. */
export interface Generation {
  readonly prompt: readonly string[];
  /** At least one token. */
  readonly output: readonly string[];
  readonly finish: FinishReason;
}

/** A generation under way. */
export interface Submitted {
  /** Tokens of its prompt that need not be computed; 0 until it is admitted. */
  readonly cachedTokens: number;
  /** Ends it before its end; does nothing after that. */
  cancel(): void;
}

export interface GenerationListener {
  /** The token with this number, from 0, has come. */
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

/** An engine that fell behind by more, since its thread was held up, does not make up for it. */
const MOST_BEHIND_NS = 50 * NS_PER_MS;

/**
 * An engine of a language model in real time: the scheduler of `ContinuousBatcher`, whose steps take the time that their law says. Tokens
 * come at the ends of steps. A step begins when the one before has ended by the law, even where the event loop told of that a moment later.
 */
export class LanguageEngine {
  readonly policy: ContinuousPolicy;
  readonly figures = new EngineFigures();
  readonly #batcher: ContinuousBatcher;
  readonly #blocks: PrefixBlocks;
  readonly #clock: Clock;
  readonly #wakeUps: WakeUps;
  readonly #running = new Map<number, Running>();
  #isStepping = false;
  #onDrained: (() => void)[] = [];

  /** `spread` draws a factor on each step's time. Throws INPUT_INVALID for a policy that nothing can run under. */
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

  /** Begins to work on it. Throws INPUT_INVALID where the KV cache has no place for it. */
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

  /** Resolves when nothing runs or waits any more. */
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
    // Its lists are good until the batcher is asked again, and a cancellation asks it.
    const emitted = [...step.emitted];
    this.#wakeUps.at(step.endNs, () => {
      this.figures.stepped(step.work);
      for (const id of emitted) this.#emit(id, step.endNs);
      this.#isStepping = false;
      this.#settle();
      this.#step(Math.max(step.endNs, this.#clock.nowNs() - MOST_BEHIND_NS));
    });
  }

  #admitted({ admitted }: Step, nowNs: number): void {
    for (const { id, cachedTokens } of admitted) {
      const running = this.#running.get(id);
      // Once more after a preemption: its prompt was counted.
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
      // The next turn of a conversation has the answer in its prompt.
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
