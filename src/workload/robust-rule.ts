import { TrituneError } from '#base/errors.ts';

/**
 * How to combine figures under several workloads: the worst; the weighted mean; or the figure that
 * a share of the weight reaches or betters.
 */
export type RobustRule =
  | { readonly kind: 'worst' }
  | { readonly kind: 'mean' }
  | {
      readonly kind: 'quantile';
      /** Above 0 and at most 1, which is the worst. */
      readonly share: number;
    };

/** A figure under one workload. */
export interface WeightedFigure {
  readonly value: number;
  /** Above 0. */
  readonly weight: number;
}

/** Reads `worst`, `mean` or `quantile:SHARE`. Errors: USAGE. */
export function parseRobustRule(text: string): RobustRule {
  if (text === 'worst' || text === 'mean') return { kind: text };
  const share = Number(/^quantile:(0?\.\d+|1|1\.0*)$/.exec(text)?.[1]);
  if (share > 0) return { kind: 'quantile', share };
  throw new TrituneError(
    'USAGE',
    `'${text}' is not a rule for several workloads`,
    'use worst, mean, or quantile:SHARE with a share above 0 and at most 1, such as quantile:0.9',
  );
}

/**
 * Returns one figure for all workloads. `worst`: the highest if lower is better, else the lowest.
 * `mean`: the weighted arithmetic mean. `quantile`: the best figure that workloads with this share
 * of the weight reach or better. Needs at least one figure.
 */
export function robustFigure(rule: RobustRule, better: 'higher' | 'lower', figures: readonly WeightedFigure[]): number {
  if (rule.kind === 'mean') {
    const total = totalWeight(figures);
    return figures.reduce((sum, { value, weight }) => sum + (value * weight) / total, 0);
  }
  return (figures[decidingIndex(rule, better, figures)] as WeightedFigure).value;
}

/** Rounding of sums of weights. */
const ABOUT = 1e-9;

/**
 * Returns the index of the figure that an ordering rule takes; for the mean, that of the worst.
 * Needs at least one figure.
 */
export function decidingIndex(
  rule: RobustRule,
  better: 'higher' | 'lower',
  figures: readonly WeightedFigure[],
): number {
  const sign = better === 'lower' ? 1 : -1;
  const order = [...figures.keys()].sort((a, b) => sign * (valueAt(figures, a) - valueAt(figures, b)));
  const weight = (rule.kind === 'quantile' ? rule.share : 1) * totalWeight(figures);
  let sum = 0;
  for (const index of order) {
    sum += (figures[index] as WeightedFigure).weight;
    if (sum >= weight * (1 - ABOUT)) return index;
  }
  return order.at(-1) as number;
}

const valueAt = (figures: readonly WeightedFigure[], index: number): number => (figures[index] as WeightedFigure).value;

const totalWeight = (figures: readonly WeightedFigure[]): number =>
  figures.reduce((sum, { weight }) => sum + weight, 0);
