import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { constraintParser, objectiveParser } from '#study/goal/goal-text.ts';
import { describeUnmet } from '#study/goal/metrics/needs.ts';
import { builtInMetrics, type Metrics, toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { Goal, LevelRange } from '#study/types.ts';
import { toCostTerms } from './cost-terms.ts';

/**
 * Returns the goal of a study. `metrics` defines the names in it. Errors: USAGE for an unknown
 * metric, or for a text that is no constraint or objective.
 */
export function toGoal(
  spec: Pick<StudySpec, 'goal' | 'together' | 'prices' | 'cost'> & AboutTokens,
  metrics: Metrics = builtInMetrics,
): Goal {
  const { goal, together } = spec;
  const cost = toCostTerms(spec);
  const { latencyBudgetMs, percentile, constraints, modelBudgetsMs = {} } = goal;
  const budgets = Object.entries(modelBudgetsMs).map(([model, budgetMs]) => `latency@${model}<=${budgetMs}`);
  const usual = cost?.forRate !== undefined ? [COST] : goal.goodput ? ['goodput'] : usualObjectives(together);
  const objectives = (goal.objectives ?? usual).map((text) => costObjective(text, spec, cost));
  const targetGoal: Goal = {
    budget: latencyBudgetMs === undefined ? null : { percentile, latencyMs: latencyBudgetMs },
    constraints: [...constraints, ...budgets].map(constraintParser(metrics)),
    objectives: objectives.map(objectiveParser(metrics)),
    ...(goal.goodput && { goodput: goal.goodput }),
    ...(cost && { cost }),
    ...(metrics !== builtInMetrics && { metrics }),
  };
  checkCosts(targetGoal);
  return targetGoal;
}

/** Errors: USAGE for a cost without the prices or the rate that it needs. */
function checkCosts(goal: Goal): void {
  for (const { metric: name } of [...goal.objectives, ...goal.constraints]) {
    const metric = toMetrics(goal).named(name);
    const need = metric.needs.find((each) => each === 'prices' || each === 'rate');
    if (need) throw new TrituneError('USAGE', describeUnmet({ metric, need }), 'see docs/cost.md');
  }
}

/** The fields that tell a language model from others. */
type AboutTokens = Pick<StudySpec, 'server' | 'prompts' | 'http'>;

/** The user's name for cost; the metric depends on what is served. */
const COST = 'cost';

/**
 * Returns the objective `cost`, with its weight, as the metric that applies here. Returns other
 * objectives unchanged.
 */
function costObjective(text: string, spec: AboutTokens, cost: Goal['cost']): string {
  const [name = '', ...weight] = text.split(':');
  if (name.trim() !== COST) return text;
  const isAboutTokens = toRequestKind(spec) === 'prompts' || spec.prompts !== undefined;
  const perMillion = isAboutTokens ? 'cost-per-million-tokens' : 'cost-per-million';
  return [cost?.forRate === undefined ? perMillion : 'cost-per-hour', ...weight].join(':');
}

/**
 * Returns throughput. For models that share a server, returns each model's throughput weighted by
 * its share, so that requests of one model do not simply offset those of another.
 */
function usualObjectives({ models, mix = {} }: NonNullable<StudySpec['together']> = {}): readonly string[] {
  if (!models) return ['throughput'];
  const shared = models.filter((model) => !('requestsPerSecond' in (lookUp(mix, model) ?? {})));
  const computeWeight = (model: string): number => {
    const part = lookUp(mix, model);
    return part && 'share' in part ? part.share : 1;
  };
  return shared.map((model) => `throughput@${model}:${computeWeight(model)}`);
}

/** Every model is measured up to this many requests in flight, … */
const MIN_HIGH = 256;
/**
 * … and up to this many at most, unless the user asks for more: one load generator can send these
 * without being the limit itself.
 */
const MAX_HIGH = 4096;
/**
 * Requests per place in a batch that keep all instances busy: one batch executes while the next one
 * waits.
 */
const PER_PLACE = 2;

/**
 * Returns the load levels to search. `places`: the most samples that a candidate executes at once;
 * without it the range ends at 256 requests in flight. A search stops where the budget or the
 * throughput stops it. Errors: USAGE if the spec asks for two kinds of level.
 */
export function chooseLevels(
  { levels: { concurrency, requestRate, batch }, traffic }: StudySpec,
  places = 1,
): LevelRange {
  if (batch) checkBatchRange(traffic, requestRate !== undefined);
  const high = Math.min(MAX_HIGH, Math.max(MIN_HIGH, PER_PLACE * places));
  if (requestRate === undefined)
    return { mode: 'concurrency', ...(concurrency ?? { low: 1, high }), ...(batch && { batch }) };
  if (concurrency === undefined) return { mode: 'request-rate', ...requestRate };
  throw new TrituneError('USAGE', '--concurrency and --request-rate cannot be used together', 'leave one of them out');
}

/**
 * Returns the load levels of a study; a resumed one keeps those of its journal. Errors: as
 * `chooseLevels`.
 */
export const levelsOfStudy = (
  { spec, started }: { readonly spec: StudySpec; readonly started: StudyStarted | null },
  places: number,
): LevelRange => started?.levels ?? chooseLevels(spec, places);

/** Errors: USAGE for options that do not work with requests of several sizes. */
function checkBatchRange({ batch }: StudySpec['traffic'], hasRate: boolean): void {
  const refuse = (what: string, hint: string): never => {
    throw new TrituneError('USAGE', `--batch-size cannot be used with ${what}`, hint);
  };
  if (batch > 1) refuse('--batch', 'give --batch N for requests of one size, or --batch-size LOW:HIGH for a search');
  if (hasRate)
    refuse('--request-rate', 'give --concurrency: how many requests of a batch a server takes is found there');
}
