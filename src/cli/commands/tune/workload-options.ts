import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { positiveNumbers } from '../../options/option-values.ts';

type WorkloadOptions = Pick<
  FlatStudyOptions,
  'workload' | 'workloadWeights' | 'robust' | 'timeScale' | 'workloadHoldout'
>;

/** The options of a study for the traffic of workload files. */
export const workloadOptionTable: OptionTable<WorkloadOptions> = under<WorkloadOptions>('Workloads', {
  workload: {
    flags: '--workload <file>',
    help: 'Workload file to tune for, at a quarter of its rate to four times it, or at --request-rate; repeatable (docs/robust.md)',
  },
  workloadWeights: {
    flags: '--workload-weights <list>',
    help: 'Weight of each --workload, such as 3,1 (default: equal weights)',
    parse: positiveNumbers,
  },
  robust: {
    flags: '--robust <rule>',
    help: 'How to combine the figures of several workloads: worst, mean or quantile:SHARE (default: worst)',
    parse: robustRule,
  },
  timeScale: {
    flags: '--time-scale <factor>',
    help: 'Multiply the durations of each --workload, at the same rates (default: shorten to 30 s)',
  },
  workloadHoldout: {
    flags: '--workload-holdout <share>',
    help: 'Share of each trace to keep for the final comparison, 0 to 1, such as 0.3',
  },
});

/** Errors: USAGE for an unknown rule. */
function robustRule(text: string): string {
  parseRobustRule(text);
  return text;
}
