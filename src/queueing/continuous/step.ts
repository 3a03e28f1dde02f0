import type { StepWork } from './step-law.ts';

/**
 * One step of an engine. Its lists name sequences; read them before the next call of the batcher.
 */
export interface EngineStep {
  readonly durationNs: number;
  /** The time of its end, when its tokens are emitted. */
  readonly endNs: number;
  readonly work: StepWork;
  /** Sequences that begin to run, some of them again. */
  readonly admitted: readonly Admission[];
  /** Sequences that get a token at its end, … */
  readonly emitted: readonly number[];
  /** … those of them that get their first, … */
  readonly first: readonly number[];
  /** … those that resume with it after a preemption, … */
  readonly resumed: readonly number[];
  /** … and those that get their last, which have left. */
  readonly finished: readonly number[];
  /** Sequences that lost their place in the KV cache and wait again. */
  readonly preempted: readonly number[];
}

/** A sequence begins to run. */
export interface Admission {
  readonly id: number;
  /** Tokens that need not be computed. */
  readonly cachedTokens: number;
}
