import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { MIN_EXECUTIONS } from './execution-law.ts';

type Batch = ServerBreakdown['batches'][number];

/** The largest growth of times within a step, and the smallest from step to step. */
const MAX_WITHIN = 1.06;
const MIN_BETWEEN = 1.15;
/** Steps that must be seen, of which two must have several sizes. */
const MIN_STEPS = 3;

/** Batches of several sizes that take equally long. */
export interface PaddedBatches {
  /** The sizes at which the next step begins, such as 4 and 8. */
  readonly steps: readonly number[];
  /** The share of the executed samples that are none, 0 to 1. */
  readonly waste: number;
}

/**
 * Returns the steps of execution times over batch sizes, where times are the same up to the next
 * power of two and jump there: the backend fills batches up to the sizes that it was compiled for.
 * null if too little was seen, or times grow with each sample.
 */
export function findPadding({ batches }: ServerBreakdown): PaddedBatches | null {
  const known = batches.filter(({ executions }) => executions >= MIN_EXECUTIONS);
  const bySteps = [...Map.groupBy(known, ({ size }) => toStep(size))].sort(([a], [b]) => a - b);
  const several = bySteps.filter(([, sizes]) => sizes.length > 1);
  if (bySteps.length < MIN_STEPS || several.length < 2) return null;
  if (several.some(([, sizes]) => computeSpread(sizes) > MAX_WITHIN)) return null;
  const means = bySteps.map(([, sizes]) => meanTime(sizes));
  if (means.slice(1).some((mean, index) => mean < MIN_BETWEEN * (means[index] as number))) return null;
  const executed = known.reduce((sum, { size, executions }) => sum + toStep(size) * executions, 0);
  const samples = known.reduce((sum, { size, executions }) => sum + size * executions, 0);
  return { steps: bySteps.map(([step]) => step), waste: 1 - samples / executed };
}

/** Returns the next power of two. */
const toStep = (size: number): number => 2 ** Math.ceil(Math.log2(size));

function computeSpread(sizes: readonly Batch[]): number {
  const times = sizes.map(({ meanExecutionUs }) => meanExecutionUs);
  return Math.max(...times) / Math.min(...times);
}

function meanTime(sizes: readonly Batch[]): number {
  const executions = sizes.reduce((sum, each) => sum + each.executions, 0);
  return sizes.reduce((sum, each) => sum + each.executions * each.meanExecutionUs, 0) / executions;
}
