import type { Visit } from './passage.ts';
import { createPlan, type Plan } from './plan.ts';
import type { Call } from './types.ts';

/** A call with its plan and the number of samples so far. */
export class PlannedCall {
  readonly plan: Plan;
  readonly inParallel: boolean;
  readonly #requestsPerSample: number | undefined;
  #samples = 0;

  constructor(call: Call, findStage: (name: string) => number) {
    this.plan = createPlan(call.steps, findStage);
    this.inParallel = call.inParallel;
    this.#requestsPerSample = call.requestsPerSample;
  }

  /** Returns the samples of each call, given the samples of the requests in the execution. */
  requestsFor(samples: readonly number[]): number[] {
    if (this.#requestsPerSample === undefined) return [...samples];
    const before = Math.floor(this.#samples * this.#requestsPerSample);
    for (const each of samples) this.#samples += each;
    return new Array<number>(Math.floor(this.#samples * this.#requestsPerSample) - before).fill(1);
  }
}

/** The calls of one execution. */
export class ExecutionCalls {
  /** The awaited replies. */
  readonly replies: Visit[] = [];
  readonly #calls: readonly PlannedCall[];
  readonly #samples: readonly number[];
  #call = -1;
  /** Samples of each unsent request of the current call. */
  #left: number[] = [];
  #awaited = 0;

  /** `samples`: those of each request in the batch. */
  constructor(calls: readonly PlannedCall[], samples: readonly number[]) {
    this.#calls = calls;
    this.#samples = samples;
  }

  /**
   * Returns the next requests to send, when none is awaited: a plan and the samples of each
   * request. null: all is done.
   */
  next(): { readonly plan: Plan; readonly requests: readonly number[] } | null {
    while (this.#left.length === 0) {
      const call = this.#calls[++this.#call];
      if (!call) return null;
      this.#left = call.requestsFor(this.#samples);
    }
    const { plan, inParallel } = this.#calls[this.#call] as PlannedCall;
    const requests = this.#left.splice(0, inParallel ? this.#left.length : 1);
    this.#awaited = requests.length;
    return { plan, requests };
  }

  /** Registers the answer to a request; returns whether it was the last awaited one. */
  isLast(reply: Visit): boolean {
    this.#awaited--;
    if (this.#awaited > 0) return false;
    this.replies.push(reply);
    return true;
  }
}
