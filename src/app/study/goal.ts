import { TrituneError } from '../../base/errors.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { constraintParser, objectiveParser } from '../../study/goal/goal-text.ts';
import { describeUnmet } from '../../study/goal/metrics/needs.ts';
import { builtInMetrics, type Metrics, metricsOf } from '../../study/goal/metrics/registry.ts';
import type { Goal, LevelRange } from '../../study/types.ts';
import { costTermsOf } from './cost/cost-terms.ts';

/**
 * Returns the goal of a study; `metrics` says what its names mean. Errors: USAGE for a metric that does not exist, or a
 * text that is no constraint or objective.
 */
export function goalOf(
  spec: Pick<StudySpec, 'goal' | 'together' | 'prices' | 'cost'> & AboutTokens,
  metrics: Metrics = builtInMetrics,
): Goal {
  const { goal, together } = spec;
  const cost = costTermsOf(spec);
  const { latencyBudgetMs, percentile, constraints, modelBudgetsMs = {} } = goal;
  const budgets = Object.entries(modelBudgetsMs).map(([model, budgetMs]) => `latency@${model}<=${budgetMs}`);
  const usual = cost?.forRate !== undefined ? [COST] : goal.goodput ? ['goodput'] : usualObjectives(together);
  const objectives = (goal.objectives ?? usual).map((text) => costObjective(text, spec, cost));
  const wanted: Goal = {
    budget: latencyBudgetMs === undefined ? null : { percentile, latencyMs: latencyBudgetMs },
    constraints: [...constraints, ...budgets].map(constraintParser(metrics)),
    objectives: objectives.map(objectiveParser(metrics)),
    ...(goal.goodput && { goodput: goal.goodput }),
    ...(cost && { cost }),
    ...(metrics !== builtInMetrics && { metrics }),
  };
  checkCosts(wanted);
  return wanted;
}

/** Errors: USAGE for a cost that the study has no prices or no rate for. */
function checkCosts(goal: Goal): void {
  for (const { metric: name } of [...goal.objectives, ...goal.constraints]) {
    const metric = metricsOf(goal).named(name);
    const need = metric.needs.find((each) => each === 'prices' || each === 'rate');
    if (need) throw new TrituneError('USAGE', describeUnmet({ metric, need }), 'see docs/cost.md');
  }
}

/** What says whether the model is a language model. */
type AboutTokens = Pick<StudySpec, 'server' | 'prompts'>;

/** What people ask for; which metric that is depends on what is to be served. */
const COST = 'cost';

/** Returns the objective `cost`, with its weight, as the metric that it is about here; others as they are. */
function costObjective(text: string, { server, prompts }: AboutTokens, cost: Goal['cost']): string {
  const [name = '', ...weight] = text.split(':');
  if (name.trim() !== COST) return text;
  const isAboutTokens = (server.endpoint ?? server.launchCommand ?? prompts) !== undefined;
  const perMillion = isAboutTokens ? 'cost-per-million-tokens' : 'cost-per-million';
  return [cost?.forRate === undefined ? perMillion : 'cost-per-hour', ...weight].join(':');
}

/** Throughput; of models that share a server that of each, with its share as weight: what one serves is not traded for the others one to one. */
function usualObjectives({ models, mix = {} }: NonNullable<StudySpec['together']> = {}): readonly string[] {
  if (!models) return ['throughput'];
  const shared = models.filter((model) => !('requestsPerSecond' in (mix[model] ?? {})));
  const weightOf = (model: string): number => {
    const part = mix[model];
    return part && 'share' in part ? part.share : 1;
  };
  return shared.map((model) => `throughput@${model}:${weightOf(model)}`);
}

/** Requests in flight up to which every model is looked at, … */
const LEAST_HIGH = 256;
/** … and at most, unless the user says more: what one load generator sends without being the limit itself. */
const MOST_HIGH = 4096;
/** Requests per place in a batch that keep all instances busy: one batch executes while the next one waits. */
const PER_PLACE = 2;

/**
 * The load levels to search. `places`: the most samples that a candidate executes at once; without it up to 256 requests in flight. A search
 * goes only as high as the budget and the throughput let it. Errors: USAGE when the spec asks for two kinds of level.
 */
export function levelsOf({ levels: { concurrency, requestRate, batch }, traffic }: StudySpec, places = 1): LevelRange {
  if (batch) checkBatchRange(traffic, requestRate !== undefined);
  const high = Math.min(MOST_HIGH, Math.max(LEAST_HIGH, PER_PLACE * places));
  if (requestRate === undefined)
    return { mode: 'concurrency', ...(concurrency ?? { low: 1, high }), ...(batch && { batch }) };
  if (concurrency === undefined) return { mode: 'request-rate', ...requestRate };
  throw new TrituneError('USAGE', '--concurrency and --request-rate cannot be used together', 'leave one of them out');
}

/** Errors: USAGE for what does not go with requests of several sizes. */
function checkBatchRange({ batch, sharedMemory = 'none' }: StudySpec['traffic'], hasRate: boolean): void {
  const refuse = (what: string, hint: string): never => {
    throw new TrituneError('USAGE', `--batch-size cannot be used with ${what}`, hint);
  };
  if (batch > 1) refuse('--batch', 'give --batch N for requests of one size, or --batch-size LOW:HIGH for a search');
  if (hasRate)
    refuse('--request-rate', 'give --concurrency: how many requests of a batch a server takes is found there');
  if (sharedMemory !== 'none') refuse('--shared-memory', 'find the batch without it, then tune with --batch and it');
}
