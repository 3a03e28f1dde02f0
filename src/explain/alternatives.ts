import { type Choice, toChoice } from '../perfmodel/modelled-config.ts';
import { buildCandidate } from '../space/candidate.ts';
import { assignments } from '../space/enumerate.ts';
import type { Candidate, SearchSpace } from '../space/types.ts';
import { computeBound, type Forecast, type ForecastContext, forecast } from './forecast.ts';

/** Configs that are simulated: those with the highest bounds. */
const MAX_SIMULATED = 40;
/** Batches are tried up to this multiple of the present limit. */
const MAX_BATCH_GROWTH = 4;
/** Smaller gains are left where they are. */
const MIN_GAIN = 1.05;
/** Among configs within this share of the best, the one with the fewest changes is proposed. */
const ALIKE = 0.97;
/** The share of the ceiling that a lower latency may cost. */
const KEPT_CEILING = 0.95;
/** The share of the ceiling from which on a higher one counts more than a lower latency. */
export const BUSY = 0.6;

/**
 * Returns the config that would be best, of those that the space allows and that the simulation
 * tells apart: instances, batches and delays. Best is the highest ceiling if there is a limit or
 * today's rate is near the ceiling, and otherwise the lowest latency at today's rate. The largest
 * request that clients may send stays allowed. null if none is better by 5 %.
 */
export function findBest(
  context: ForecastContext,
  space: SearchSpace,
  original: Candidate,
  present: Forecast,
): Forecast | null {
  const limit = present.choice.policy.maxBatchSize;
  const choices = new Map<string, Choice>();
  for (const assignment of assignments(space, original)) {
    const built = buildCandidate(space, original, assignment);
    if (!built.legal) continue;
    const { maxBatchSize } = built.candidate.shape.policy;
    if (maxBatchSize < limit || maxBatchSize > Math.max(1, limit) * MAX_BATCH_GROWTH) continue;
    const choice = toChoice(built.candidate);
    if (!choices.has(choice.key)) choices.set(choice.key, choice);
  }
  const ranked = [...choices.values()].sort((a, b) => computeBound(context, b) - computeBound(context, a));
  const forecasts = ranked.slice(0, MAX_SIMULATED).flatMap((choice) => forecast(context, choice) ?? []);
  const worth = wantsRate(context, present) ? ceilingGain : latencyGain;
  const gains = forecasts.map((each) => worth(present, each));
  const most = Math.max(...gains);
  if (!(most >= MIN_GAIN)) return null;
  const [best] = forecasts
    .filter((_, index) => (gains[index] as number) >= ALIKE * most)
    .sort((a, b) => countChanges(present, a) - countChanges(present, b) || worth(present, b) - worth(present, a));
  return best ?? null;
}

const wantsRate = ({ budgetMs, perSecond }: ForecastContext, { ceilingPerSecond, today }: Forecast): boolean =>
  budgetMs < Number.POSITIVE_INFINITY || today === null || perSecond > BUSY * ceilingPerSecond;

/** Returns the ratio of the cautious ceilings. */
export function ceilingGain(present: Forecast, other: Forecast): number {
  if (present.cautiousPerSecond > 0) return other.cautiousPerSecond / present.cautiousPerSecond;
  return other.cautiousPerSecond > 0 ? Number.POSITIVE_INFINITY : 1;
}

/**
 * Returns the ratio of the mean latencies, today's over the other's; 0 if the ceiling would suffer.
 */
export function latencyGain(present: Forecast, other: Forecast): number {
  if (!other.today || other.ceilingPerSecond < KEPT_CEILING * present.ceilingPerSecond) return 0;
  return present.today ? present.today.mean / other.today.mean : Number.POSITIVE_INFINITY;
}

function countChanges({ choice: a }: Forecast, { choice: b }: Forecast): number {
  const fields = ['instances', 'maxBatchSize', 'maxQueueDelayNs', 'dynamicBatching'] as const;
  const changed = fields.filter((field) => a.policy[field] !== b.policy[field]).length;
  return changed + (String(a.policy.preferredBatchSizes) === String(b.policy.preferredBatchSizes) ? 0 : 1);
}
