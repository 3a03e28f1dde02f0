import type { Plan } from './plan.ts';

/**
 * The sender of a request: a client of the front at this index, or the execution of a BLS model, by
 * its slot.
 */
type Sender = { readonly front: number } | { readonly slot: number };

/** One request's way through the steps of a plan. */
export class Passage {
  readonly plan: Plan;
  readonly samples: number;
  readonly sentNs: number;
  readonly sender: Sender;
  /** The largest latency of a good request. */
  readonly limitNs: number;
  /** Steps that have not ended. */
  left: number;
  /** The number of steps that each step still waits for; created at the first join. */
  #waitsFor: number[] | null = null;

  constructor(plan: Plan, samples: number, sentNs: number, sender: Sender, limitNs = Number.POSITIVE_INFINITY) {
    this.plan = plan;
    this.samples = samples;
    this.sentNs = sentNs;
    this.sender = sender;
    this.limitNs = limitNs;
    this.left = plan.steps.length;
  }

  /**
   * Registers the end of one of the steps that `step` needs. Returns whether it was the last of
   * them.
   */
  isReady(step: number): boolean {
    const needs = this.plan.steps[step]?.needs as number;
    if (needs === 1) return true;
    this.#waitsFor ??= this.plan.steps.map((each) => each.needs);
    this.#waitsFor[step] = (this.#waitsFor[step] as number) - 1;
    return this.#waitsFor[step] === 0;
  }
}

/** One step of a passage, at its stage. */
export class Visit {
  readonly passage: Passage;
  readonly step: number;
  readonly stage: number;
  readonly queuedNs: number;
  /** The visit whose end let it begin; null for a first step. */
  readonly cause: Visit | null;
  startNs = 0;
  /** The time at which its execution's own time had passed. */
  computedNs = 0;
  /** The calls of its execution whose replies it waited for. */
  called: readonly Visit[] | null = null;

  constructor(passage: Passage, step: number, stage: number, queuedNs: number, cause: Visit | null) {
    this.passage = passage;
    this.step = step;
    this.stage = stage;
    this.queuedNs = queuedNs;
    this.cause = cause;
  }
}

/** Nanoseconds by stage. */
export interface PathSums {
  readonly queueNs: Float64Array;
  readonly computeNs: Float64Array;
}

/**
 * Adds the times that the end of the visit waited for: its own, those of its calls, and those of
 * the visits that led to it.
 */
export function addPath(last: Visit, sums: PathSums): void {
  for (let visit: Visit | null = last; visit; visit = visit.cause) {
    const { stage, queuedNs, startNs, computedNs, called } = visit;
    sums.queueNs[stage] = (sums.queueNs[stage] as number) + startNs - queuedNs;
    sums.computeNs[stage] = (sums.computeNs[stage] as number) + computedNs - startNs;
    for (const each of called ?? []) addPath(each, sums);
  }
}
