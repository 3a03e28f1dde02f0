import type { JsonObject } from '#base/json.ts';
import { NS_PER_US } from '#base/units.ts';
import type { ExecutionLaws } from '#perfmodel/execution-laws.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { listDifferences } from '#space/differences.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { findBest } from './alternatives.ts';
import { findDispersion, toProcess } from './arrivals.ts';
import { simulateBusyDuring } from './busy-during.ts';
import { driftCauses, simulatedCauses, type WeighedCause } from './causes.ts';
import { busyInstances, fitSeenLaw, hasServed, MIN_EXECUTIONS, samplesPerRequest } from './execution-law.ts';
import type { ModelExplanation } from './explanation.ts';
import { type FittedProcess, fitProcess } from './fit-process.ts';
import { ceilingInterval, type Forecast, type ForecastContext, forecast, REQUESTS } from './forecast.ts';
import type { ModelWork } from './readings.ts';

/** What a service should keep. */
export interface LatencyLimit {
  readonly percentile: number;
  /** Infinity for none. */
  readonly latencyMs: number;
}

type Simulated = Pick<ModelExplanation, 'present' | 'proposal' | 'unknown' | 'settle'> & {
  readonly causes: readonly WeighedCause[];
  /** True for groups of requests whose counts look even. */
  readonly hasEvenGroups: boolean;
};

/**
 * Explains a model that the simulation knows: what its config would serve at most, a better config,
 * and the causes that a simulated change confirms. null without executions by batch size.
 */
export function explainBySimulation(
  original: Candidate,
  served: ModelWork,
  others: readonly ModelWork[],
  budget: LatencyLimit,
): Simulated | null {
  const config = toModelConfig(original);
  const choice = toChoice(original);
  const { breakdown } = served;
  if (!breakdown) return null;
  const dispersion = findDispersion(served, choice.policy.instances);
  const traffic = {
    perSecond: breakdown.successCount / served.seconds,
    samplesPerRequest: Math.round(samplesPerRequest(breakdown)),
    otherNs: breakdown.overheadUs * NS_PER_US,
    budgetMs: budget.latencyMs,
    percentile: budget.percentile,
    requests: REQUESTS.toTell,
    largestSeen: findLargestSeen(breakdown),
  };
  const fitted = fitServer(served, dispersion, choice, traffic, breakdown);
  if (!fitted) return null;
  const { laws, process, explainsQueue } = fitted;
  const context: ForecastContext = { ...traffic, laws, process };
  const ranking: ForecastContext = { ...context, requests: REQUESTS.toRank };
  const present = forecast(context, choice);
  const rankedPresent = forecast(ranking, choice);
  if (!present || !rankedPresent) return null;
  const limits = { latency_budget_us: Number.isFinite(budget.latencyMs) ? 1e3 * budget.latencyMs : null };
  const best = findBest(ranking, loadSpace('base', { limits }), original, rankedPresent);
  const proposal = best && forecast(context, best.choice);
  const othersBusy = readOthersBusy(served, others);
  const isSteady = toProcess(dispersion, 0).kind === 'steady';
  const seen = {
    served,
    breakdown,
    context: ranking,
    present: rankedPresent,
    best,
    isSteady,
    explainsQueue,
    othersBusy,
  };
  const unseen = listUnseen(traffic.largestSeen, present, proposal);
  const hits = breakdown.cache.hitCount / breakdown.successCount;
  const unknown = [
    ...unseen,
    ...(hits > MIN_HITS ? ['what the response cache saves: its hits count as requests that are executed'] : []),
    ...(explainsQueue
      ? []
      : ['why requests queue as long as they do: neither their number nor the config explains it']),
    ...(dispersion
      ? []
      : ['how requests arrive: too few were counted, or the server is full; independent clients are assumed']),
  ];
  return {
    causes: [...simulatedCauses(seen), ...driftCauses(seen)],
    hasEvenGroups: process.kind === 'groups',
    present: { ...describeForecast(context, present), headroom: present.ceilingPerSecond / context.perSecond },
    proposal: proposal && describeProposal(context, original, proposal),
    unknown,
    settle: proposal && unseen.length > 0 ? describeSettling(config, proposal, traffic.largestSeen) : null,
  };
}

/**
 * Fits how requests arrive, and how long they are executed: how many instances are busy at once
 * depends on both. null without executions by batch size.
 */
function fitServer(
  served: ModelWork,
  dispersion: Interval | null,
  choice: Choice,
  traffic: Omit<ForecastContext, 'laws' | 'process'>,
  breakdown: ServerBreakdown,
): (FittedProcess & Pick<ForecastContext, 'laws'>) | null {
  const rough = fitSeenLaw(choice, served.intervals);
  if (!rough) return null;
  const fitArrivals = (laws: ExecutionLaws) => {
    const seen = { breakdown, arrivalsNs: served.arrivalsNs };
    return { ...fitProcess(dispersion, seen, { ...traffic, laws }, choice), laws };
  };
  const roughly = fitArrivals(rough);
  if (choice.policy.instances === 1) return roughly;
  const simulated = { ...traffic, ...roughly, requests: REQUESTS.toRank };
  return fitArrivals(fitSeenLaw(choice, served.intervals, simulateBusyDuring(simulated, choice)) ?? rough);
}

const describeForecast = (context: ForecastContext, each: Forecast) => ({
  ceiling: ceilingInterval(context, each),
  latencyMs: each.today,
});

function describeProposal(context: ForecastContext, original: Candidate, best: Forecast): ModelExplanation['proposal'] {
  const { candidate } = best.choice;
  const changes = listDifferences(original, candidate).map(({ path, before, after }) => ({
    path,
    before: before === undefined ? null : JSON.stringify(before),
    after: after === undefined ? null : JSON.stringify(after),
  }));
  return {
    ...describeForecast(context, best),
    changes,
    assignment: candidate.assignment,
    config: toModelConfig(candidate) as JsonObject,
  };
}

/** Returns the mean number of busy instances of other models in each interval. */
function readOthersBusy({ intervals }: ModelWork, others: readonly ModelWork[]): readonly number[] {
  const busy = intervals.map(() => 0);
  for (const { intervals: same } of others) {
    if (same.length !== intervals.length) continue;
    for (const [index, each] of same.entries())
      if (hasServed(each)) busy[index] = (busy[index] as number) + busyInstances(each);
  }
  return busy;
}

/** The share of the cache's hits from which on they are mentioned. */
const MIN_HITS = 0.01;

/** Returns the largest batch with enough executions, or else the largest. */
function findLargestSeen({ batches }: ServerBreakdown): number {
  const often = batches.filter(({ executions }) => executions >= MIN_EXECUTIONS);
  return Math.max(...(often.length > 0 ? often : batches).map(({ size }) => size));
}

/** Returns what the forecasts rely on that was not observed. */
function listUnseen(largestSeen: number, present: Forecast, proposal: Forecast | null): string[] {
  const instances = proposal?.choice.policy.instances ?? 0;
  const largest = Math.max(present.usualLargest, proposal?.usualLargest ?? 0);
  return [
    ...(instances > present.choice.policy.instances
      ? [`how ${instances} instances slow each other, and whether they fit into memory`]
      : []),
    ...(largest > largestSeen ? [`how long batches of more than ${largestSeen} take, which the ceilings need`] : []),
  ];
}

function describeSettling({ name = '' }: ModelConfig, { usualLargest }: Forecast, largestSeen: number): string {
  const batch = usualLargest > largestSeen ? `, up to batches of ${usualLargest}` : '';
  return `load the proposed config of '${name}' on a replica without traffic, and profile it there${batch}`;
}
