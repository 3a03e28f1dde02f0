import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { buildCandidate } from '#space/candidate.ts';
import { assignments } from '#space/enumerate.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import { computeBound, type Forecast, type ForecastContext, forecast } from './forecast.ts';

/** Configs that are simulated: those with the highest bounds, and those with the fewest changes. */
const MAX_SIMULATED = { bounds: 40, changes: 20 };
/**
 * Batches and instances are tried up to these multiples of the present ones: what is further from
 * what was seen is hardly known.
 */
const MAX_GROWTH = { batch: 8, instances: 4 };
/** Smaller gains are left where they are. */
const MIN_GAIN = 1.05;
/** The config with the fewest changes is proposed of those within this share of the best gain. */
const ALIKE = { ceiling: 0.995, latency: 0.9 };
/** The share of the ceiling that a lower latency may cost. */
const KEPT_CEILING = 0.95;
/** The share of the ceiling from which on a higher one counts more than a lower latency. */
const BUSY = 0.6;
/**
 * As long as a service is not that busy, a higher ceiling may cost today's requests so much time.
 */
const MAX_SLOWER = 1.1;

/**
 * Returns the config that would be best, of those that the space allows and that the simulation
 * tells apart: instances, batches and delays. Best is the highest ceiling where today's rate is 60
 * % of the present one, or 20 % if there is a budget; else the lowest latency at today's rate.
 * Below 60 % today's requests become at most a tenth slower. The largest request that clients may
 * send stays allowed. null if none is better by 5 %.
 */
export function findBest(
  context: ForecastContext,
  space: SearchSpace,
  original: Candidate,
  present: Forecast,
): Forecast | null {
  const { policy } = present.choice;
  const choices = new Map<string, Choice>();
  for (const assignment of assignments(space, original)) {
    const built = buildCandidate(space, original, assignment);
    if (!built.legal) continue;
    const { maxBatchSize, instances } = built.candidate.shape.policy;
    if (maxBatchSize < policy.maxBatchSize || instances > MAX_GROWTH.instances * policy.instances) continue;
    if (maxBatchSize > MAX_GROWTH.batch * Math.max(1, policy.maxBatchSize)) continue;
    const choice = toChoice(built.candidate);
    if (!choices.has(choice.key)) choices.set(choice.key, choice);
  }
  const changes = (choice: Choice): number => countChanges(present.choice, choice);
  const byBound = [...choices.values()].sort((a, b) => computeBound(context, b) - computeBound(context, a));
  const simulated = new Set([
    ...byBound.slice(0, MAX_SIMULATED.bounds),
    ...byBound.toSorted((a, b) => changes(a) - changes(b)).slice(0, MAX_SIMULATED.changes),
  ]);
  const forecasts = [...simulated]
    .flatMap((choice) => forecast(context, choice) ?? [])
    .filter((each) => isBusy(context, present) || !isSlower(present, each));
  const isForRate = wantsRate(context, present);
  const worth = isForRate ? ceilingGain : latencyGain;
  const most = Math.max(...forecasts.map((each) => worth(present, each)));
  if (!(most >= MIN_GAIN)) return null;
  const [best] = forecasts
    .filter((each) => worth(present, each) >= Math.max(MIN_GAIN, (isForRate ? ALIKE.ceiling : ALIKE.latency) * most))
    .sort((a, b) => changes(a.choice) - changes(b.choice) || worth(present, b) - worth(present, a));
  return best ?? null;
}

/** Returns whether a higher ceiling counts more than a lower latency. */
export const isBusy = ({ perSecond }: ForecastContext, { ceilingPerSecond, today }: Forecast): boolean =>
  today === null || perSecond > BUSY * ceilingPerSecond;

const isSlower = (present: Forecast, other: Forecast): boolean =>
  present.today !== null && other.today !== null && other.today.mean > MAX_SLOWER * present.today.mean;

/** With a budget, a higher ceiling counts from this share of the present one on. */
const RATE_COUNTS = 0.2;

const wantsRate = ({ budgetMs, perSecond }: ForecastContext, { ceilingPerSecond, today }: Forecast): boolean => {
  const hasBudget = budgetMs < Number.POSITIVE_INFINITY;
  return today === null || perSecond > (hasBudget ? RATE_COUNTS : BUSY) * ceilingPerSecond;
};

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

function countChanges({ policy: a }: Choice, { policy: b }: Choice): number {
  const fields = ['instances', 'maxBatchSize', 'maxQueueDelayNs', 'dynamicBatching'] as const;
  return fields.filter((field) => a[field] !== b[field]).length + (prefers(a) === prefers(b) ? 0 : 1);
}

/** Returns the sizes that batches wait for; the largest one is what they wait for anyway. */
const prefers = ({ preferredBatchSizes, maxBatchSize }: BatcherPolicy): string =>
  String(preferredBatchSizes.filter((size) => size !== maxBatchSize));
