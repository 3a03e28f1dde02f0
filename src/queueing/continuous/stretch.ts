import type { StepWork } from './step-law.ts';

/** Consecutive steps in which the same sequences decode and nothing else happens. */
export interface DecodeStretch {
  readonly steps: number;
  readonly sequences: number;
  /** The work of the first step. */
  readonly work: StepWork;
  /** The time of the first step, and the increase from each step to the next. */
  readonly firstNs: number;
  readonly growthNs: number;
}

/**
 * Returns the end of the stretch's step with this index, from the beginning of the first; fractions
 * of an index lie between.
 */
export const stretchNs = ({ firstNs, growthNs }: Pick<DecodeStretch, 'firstNs' | 'growthNs'>, steps: number): number =>
  steps * firstNs + (growthNs * steps * (steps - 1)) / 2;

/** Steps that grow by a smaller share count as equal. */
const FLAT = 1e-9;

/**
 * Returns the number of steps that begin within `spanNs`: the least whose total time reaches it.
 */
export function stepsWithin(spanNs: number, firstNs: number, growthNs: number): number {
  if (spanNs === Number.POSITIVE_INFINITY) return spanNs;
  if (growthNs <= FLAT * firstNs) return Math.ceil(spanNs / firstNs);
  const linear = firstNs - growthNs / 2;
  return Math.ceil((Math.sqrt(linear * linear + 2 * growthNs * spanNs) - linear) / growthNs);
}
