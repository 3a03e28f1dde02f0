import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { type PlanFigures, summarizeFigures } from '#workload/figures.ts';
import { computeMeanRate, createPlan, type PlanOptions } from '#workload/plan/plan-of.ts';
import { findDuration, type Workload } from '#workload/workload.ts';

/** A workload prepared for display. */
export interface ShownWorkload {
  readonly workload: Workload;
  readonly plan: ArrivalPlan;
  readonly figures: PlanFigures;
  /** Seconds of the workload as written; the plan may be shorter. */
  readonly naturalS: number;
}

/** Longer plans take more time and show nothing more on a screen. */
const MAX_SHOWN = 5_000_000;

/**
 * Compiles a workload for display. Shortens one with very many requests, but keeps its rates.
 * Errors: INPUT_INVALID.
 */
export function shownWorkload(workload: Workload, options: PlanOptions): ShownWorkload {
  const mostSeconds = MAX_SHOWN / (options.meanPerSecond ?? computeMeanRate(workload));
  const plan = createPlan(workload, {
    ...options,
    mostSeconds: Math.min(options.mostSeconds ?? mostSeconds, mostSeconds),
  });
  return { workload, plan, figures: summarizeFigures(plan), naturalS: findDuration(workload) };
}
