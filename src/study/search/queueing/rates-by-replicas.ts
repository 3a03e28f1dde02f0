import { median } from 'simple-statistics';
import { usableRate } from '#stats/replicas.ts';
import { assess, costOfServed, followsFromThroughput, goalOfLevels, isFeasible } from '../../goal/goal.ts';
import { toMetrics } from '../../goal/metrics/registry.ts';
import { bestTrial, findChosen } from '../../goal/ranking.ts';
import type { Goal, LevelRange, RunningTrial, Trial } from '../../types.ts';

/**
 * The margin of rates above the need of a number of replicas: throughput and its interval vary a
 * little between measurements.
 */
const ROOM = 0.01;
/**
 * The counted share of an unmeasured throughput, besides the headroom: about what its interval
 * takes.
 */
const USUALLY_COUNTED = 0.985;
/**
 * The least relative difference between neighbouring rates: one replica more or less of very many
 * hardly counts.
 */
const MIN_STEP = 0.03;
/** Rates within this ratio of each other count as one. */
const ALIKE = 1.01;
/** The least gain in cost that counts, as a logarithm. */
const MIN_GAIN = 0.005;

/**
 * Returns the only request rates that matter to a cost for a rate, rising: at each one a server
 * more can be left out. Between two of them a candidate that serves more costs the same. null if
 * the goal is no such cost, or the levels are no rates.
 */
export function ratesByReplicas(
  goal: Goal,
  { mode, low, high }: LevelRange,
  tried: readonly Pick<Trial, 'candidate' | 'measurements'>[],
): readonly number[] | null {
  const { cost } = goal;
  if (mode !== 'request-rate' || typeof cost?.forRate !== 'number' || !hasSteps(goal)) return null;
  const shares = tried.flatMap(({ candidate, measurements }) =>
    measurements.flatMap((each) =>
      isFeasible(each, candidate, goal) ? [usableRate(each.throughput, cost) / each.level.value] : [],
    ),
  );
  const usable = shares.length > 0 ? median(shares) : USUALLY_COUNTED * (1 - cost.headroom);
  const ofOne = ((1 + ROOM) * cost.forRate) / usable;
  const rates: number[] = [];
  for (let replicas = Math.max(1, Math.ceil(ofOne / high)); ofOne / replicas >= low; ) {
    rates.push(Number((ofOne / replicas).toPrecision(4)));
    replicas = Math.max(replicas + 1, Math.ceil(replicas * (1 + MIN_STEP)));
  }
  return rates.length > 0 ? rates.reverse() : null;
}

const hasSteps = (goal: Goal): boolean =>
  followsFromThroughput(goal) &&
  goal.objectives.every(({ metric }) => toMetrics(goal).named(metric).follows?.smooth !== undefined);

/**
 * Returns the next of these rates on the way to the highest that the candidate keeps; null if that
 * is found, or the remaining rates would not make it cheaper than the best of `others`. The
 * original's own highest is searched for whatever the others cost.
 */
export function nextOfRates(
  { candidate, measurements, role }: RunningTrial,
  others: readonly Trial[],
  rates: readonly number[],
  goal: Goal,
): number | null {
  const levels = measurements.map((each) => ({
    rate: each.level.value,
    isKept: assess(each, candidate, goalOfLevels(goal)).feasible,
  }));
  const kept = levels.filter(({ isKept }) => isKept).map(({ rate }) => rate);
  const most = Math.max(0, ...kept);
  const missed = Math.min(...levels.filter(({ rate, isKept }) => !isKept && rate > most).map(({ rate }) => rate));
  const isCheaper = role === 'baseline' ? () => true : cheaperThanBest(others, candidate, goal);
  const open = rates.filter((rate) => rate > ALIKE * most && ALIKE * rate < missed && isCheaper(rate));
  if (open.length === 0) return null;
  // Nothing was kept yet: if the lowest useful rate is not kept, the others need not be tried.
  if (most === 0 && role !== 'baseline') return open[0] as number;
  const climb = missed === Number.POSITIVE_INFINITY ? 2 ** (kept.length - 1) - 1 : Math.floor(open.length / 2);
  return open[Math.min(climb, open.length - 1)] as number;
}

/**
 * Returns a test for rates at which the candidate would be cheaper than the best trial; always true
 * while nothing meets the goal.
 */
function cheaperThanBest(
  others: readonly Trial[],
  candidate: RunningTrial['candidate'],
  goal: Goal,
): (rate: number) => boolean {
  const best = bestTrial(others, goal);
  const measurement = best?.feasible ? findChosen(best) : undefined;
  if (!best || !measurement) return () => true;
  const { cost } = assess(measurement, best.candidate, goal);
  const perRequest = measurement.throughput.value / measurement.level.value;
  return (rate) => costOfServed(Math.log(rate * perRequest), measurement, candidate, goal) < cost - MIN_GAIN;
}
