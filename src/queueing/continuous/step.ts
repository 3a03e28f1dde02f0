import type { StepWork } from './step-law.ts';

/** One step of an engine. Its lists name sequences; read them before the next call of the batcher. */
export interface Step {
  readonly durationNs: number;
  /** When it ends; what it emits comes then. */
  readonly endNs: number;
  readonly work: StepWork;
  /** Sequences that begin to run, some of them again. */
  readonly admitted: readonly Admission[];
  /** Sequences that get a token at its end, … */
  readonly emitted: readonly number[];
  /** … those of them whose first one it is, … */
  readonly first: readonly number[];
  /** … those that go on with it after they were preempted, … */
  readonly resumed: readonly number[];
  /** … and those whose last one it is, which are gone. */
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
