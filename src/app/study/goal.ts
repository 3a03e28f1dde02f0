import { TrituneError } from '../../base/errors.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { constraintParser, objectiveParser } from '../../study/goal/goal-text.ts';
import { builtInMetrics, type Metrics } from '../../study/goal/metrics/registry.ts';
import type { Goal, LevelRange } from '../../study/types.ts';

/**
 * Returns the goal of a study; `metrics` says what its names mean. Errors: USAGE for a metric that does not exist, or a
 * text that is no constraint or objective.
 */
export function goalOf({ goal }: StudySpec, metrics: Metrics = builtInMetrics): Goal {
  const { latencyBudgetMs, percentile, constraints, objectives } = goal;
  return {
    budget: latencyBudgetMs === undefined ? null : { percentile, latencyMs: latencyBudgetMs },
    constraints: constraints.map(constraintParser(metrics)),
    objectives: objectives.map(objectiveParser(metrics)),
    ...(metrics !== builtInMetrics && { metrics }),
  };
}

const DEFAULT_CONCURRENCY = { low: 1, high: 256 };

/** The load levels to search. Errors: USAGE when the spec asks for two kinds of level. */
export function levelsOf({ levels: { concurrency, requestRate } }: StudySpec): LevelRange {
  if (requestRate === undefined) return { mode: 'concurrency', ...(concurrency ?? DEFAULT_CONCURRENCY) };
  if (concurrency === undefined) return { mode: 'request-rate', ...requestRate };
  throw new TrituneError(
    'USAGE',
    'load levels are either requests in flight or requests per second',
    'give --concurrency or --request-rate, not both',
  );
}
