import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { constraintHelp } from '#study/goal/goal-text.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { percentile } from '../../options/option-values.ts';

type GoalOptions = Pick<FlatStudyOptions, 'latencyBudget' | 'percentile' | 'constraint' | 'objective'>;

/** The options for a study's goal. */
export const goalOptionTable: OptionTable<GoalOptions> = under<GoalOptions>('Goal', {
  latencyBudget: {
    flags: '--latency-budget <ms>',
    help: 'Highest latency allowed at the --percentile, in ms',
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'Latency percentile of the budget',
    parse: percentile,
  },
  constraint: {
    flags: '--constraint <metric<=value>',
    help: constraintHelp(builtInMetrics),
  },
  objective: {
    flags: '--objective <name[:weight]>',
    help: 'Metric to improve, or cost; repeatable with weights (default: throughput, or cost with --for-rate)',
  },
});
