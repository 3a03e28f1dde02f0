import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { Sequence } from '#queueing/continuous/sequence.ts';
import type { StepWork } from '#queueing/continuous/step-law.ts';

/** What a sequence did: by step, the tokens that it had at its end. */
interface Own {
  readonly id: number;
  readonly sequence: Sequence;
  emitted: number;
  computed: number;
  /** It has a token for all that it was admitted with. */
  decodes: boolean;
}

export interface NaiveStep {
  readonly work: StepWork;
  readonly emitted: number[];
  readonly finished: number[];
  readonly preempted: number[];
  readonly kvTokens: number;
}

/**
 * The scheduler of chunked prompts written token by token, without prefixes and without any
 * shortcut: what the batcher is checked against.
 */
export class NaiveEngine {
  readonly #policy: ContinuousPolicy;
  #waiting: Own[] = [];
  #running: Own[] = [];
  #count = 0;

  constructor(policy: ContinuousPolicy) {
    this.#policy = policy;
  }

  enqueue(sequence: Sequence): number {
    this.#waiting.push({ id: this.#count, sequence, emitted: 0, computed: 0, decodes: false });
    return this.#count++;
  }

  step(): NaiveStep | null {
    const most = this.#policy.maxStepTokens ?? Number.POSITIVE_INFINITY;
    const capacity = this.#policy.kvCacheTokens ?? Number.POSITIVE_INFINITY;
    const limit = Math.min(this.#policy.maxSequences, most);
    const needed = ({ sequence, emitted }: Own): number => sequence.inputTokens + emitted;
    const decodes = (own: Own): boolean => own.decodes;
    const used = (): number => this.#running.reduce((sum, { computed }) => sum + computed, 0) + planned();
    const plan = new Map<Own, number>();
    const planned = (): number => [...plan.values()].reduce((sum, tokens) => sum + tokens, 0);
    const preempted: number[] = [];
    const decoding = (): number => this.#running.filter(decodes).length;
    const makePlace = (tokens: number): void => {
      while (this.#running.length > 1 && used() + tokens + decoding() > capacity) {
        const last = this.#running.pop() as Own;
        plan.delete(last);
        last.computed = 0;
        last.decodes = false;
        this.#waiting.unshift(last);
        preempted.push(last.id);
      }
    };
    let budget = most - decoding();
    for (const own of [...this.#running].filter((each) => !decodes(each))) {
      if (budget <= 0 || !this.#running.includes(own)) continue;
      const tokens = Math.min(needed(own) - own.computed, budget);
      makePlace(tokens);
      if (!this.#running.includes(own)) continue;
      plan.set(own, tokens);
      budget -= tokens;
    }
    while (budget > 0 && preempted.length === 0 && this.#running.length < limit) {
      const [next] = this.#waiting;
      if (!next) break;
      if (this.#running.length > 0 && used() + decoding() + needed(next) > capacity) break;
      this.#waiting.shift();
      this.#running.push(next);
      const tokens = Math.min(needed(next), budget);
      plan.set(next, tokens);
      budget -= tokens;
    }
    makePlace(0);
    const decoders = this.#running.filter(decodes);
    if (decoders.length === 0 && plan.size === 0) return null;
    let [prefillTokens, prefillPairs] = [0, 0];
    for (const [own, tokens] of plan) {
      prefillTokens += tokens;
      for (let token = 0; token < tokens; token++) prefillPairs += own.computed + token + 0.5;
    }
    const contextTokens = decoders.reduce((sum, { computed }) => sum + computed + 1, 0);
    const emitted: number[] = [];
    const finished: number[] = [];
    for (const own of [...this.#running]) {
      if (decoders.includes(own)) own.computed++;
      else own.computed += plan.get(own) ?? 0;
      if (own.computed < needed(own)) continue;
      own.emitted++;
      own.decodes = true;
      emitted.push(own.id);
      if (own.emitted < own.sequence.outputTokens) continue;
      finished.push(own.id);
      this.#running = this.#running.filter((each) => each !== own);
    }
    plan.clear();
    const work = { prefillTokens, prefillPairs, decoding: decoders.length, contextTokens };
    return { work, emitted, finished, preempted, kvTokens: used() };
  }
}
