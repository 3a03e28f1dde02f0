import { formatFigure } from '#base/format.ts';
import type { RobustRule } from '#workload/robust-rule.ts';

/** Returns the rule in words, to stand after `by`: `the worst of each figure`. */
export function describeRule(rule: RobustRule): string {
  if (rule.kind === 'worst') return 'the worst of each figure';
  if (rule.kind === 'mean') return 'the weighted mean of each figure';
  return `the figure that ${formatFigure(100 * rule.share)} % of the weight has or betters`;
}
