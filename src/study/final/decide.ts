import { formatFigure, formatRatio } from '#base/format.ts';
import type { Interval } from '#stats/interval.ts';
import { LIKELY } from '../level-chances.ts';
import type { GainDecided } from '../records/records.ts';
import type { Goal, Trial } from '../types.ts';
import { computeGain, computeHalfWidth, listPairs, type Pairs } from './pairs.ts';
import type { Rounds } from './rounds.ts';
import { computeCost, mostlyMeets, type Side } from './sides.ts';
import { compareSimplicity, MAX_TIE } from './simplicity.ts';

/** A finalist, and its pairs with the original config. */
interface Finalist {
  readonly side: Side;
  readonly pairs: Pairs;
  readonly holds: boolean;
  readonly cost: number;
}

export type Decision = Omit<GainDecided, 'type' | 'at'>;

/**
 * Decides the final: the best of the finalists that hold; the original config when none does but
 * it, or when no gain over it was shown. `leastGain`: the smallest gain that the user wants, as a
 * share; 0 for any. `unplayed`: candidates that the final had no time for, the best first; where no
 * finalist holds, the first of these wins without a gain. There is no gain either where no round
 * has deciding measurements of both; then the best of the search stands.
 */
export function decide(
  { played, baseline }: Pick<Rounds, 'played' | 'baseline'>,
  goal: Goal,
  leastGain: number,
  unplayed: readonly Side[] = [],
): Decision {
  const met = played.flatMap((side) => toFinalist(side, baseline, goal) ?? []);
  const winner = findWinner(met, baseline, goal, leastGain);
  if (!winner) {
    const best = (played.find(({ holds }) => holds) ?? baseline).trial.number;
    return { best, gain: null, verdict: best === baseline.trial.number ? 'nothing-better' : 'unconfirmed' };
  }
  const gain = computeGain(winner.pairs, winner.side, baseline, goal);
  const [instead] = winner.holds ? [] : unplayed;
  if (instead) {
    const rejected = toRejection(winner, 'it missed the goal in the final', gain);
    return { best: instead.trial.number, gain: null, verdict: 'unconfirmed', rejected };
  }
  const reason = reasonForBaseline(winner, baseline, gain, goal, leastGain);
  if (reason === null) {
    const isConfirmed = gain !== null && gain.low > 0 && (gain.low > 1 || !baseline.holds);
    return { best: winner.side.trial.number, gain, verdict: isConfirmed ? 'better' : 'unconfirmed' };
  }
  return keepBaseline(baseline.trial, toRejection(winner, reason, gain));
}

/**
 * Returns why the original config is the better advice; null if it is not: both hold and no gain
 * was shown; it alone holds; or neither holds and there is no sign of a gain.
 */
function reasonForBaseline(
  { side, pairs, holds }: Finalist,
  baseline: Side,
  gain: Interval | null,
  goal: Goal,
  leastGain: number,
): string | null {
  const missed = 'it missed the goal in the final';
  if (!holds) return baseline.holds || gain === null || gain.high < 1 ? missed : null;
  if (!baseline.holds) return null;
  if (gain === null) return 'its gain over the original config could not be measured';
  const halfWidth = computeHalfWidth(pairs, side, baseline, goal);
  const reason = whyNoGain(gain, leastGain, halfWidth);
  const [low, high] = computeBounds(gain, halfWidth);
  return reason !== null && low <= 1 && high >= LARGE_GAIN ? `${reason}; a longer final could tell` : reason;
}

/** Most people would want to know of a gain of this size. */
const LARGE_GAIN = 1.25;

/**
 * A single comparison has no interval: `halfWidth`, as a logarithm, is that of its two
 * measurements.
 */
const computeBounds = ({ value, low, high }: Interval, halfWidth: number): readonly [low: number, high: number] =>
  low > 0 ? [low, high] : [value * Math.exp(-halfWidth), value * Math.exp(halfWidth)];

/**
 * Returns why a measured gain over the original config is none; null for a gain. `halfWidth`: as
 * `computeBounds` takes it.
 */
export function whyNoGain(gain: Interval, leastGain: number, halfWidth: number): string | null {
  const { value } = gain;
  const [low, high] = computeBounds(gain, halfWidth);
  if (high < 1) return 'it was not better than the original config';
  if (low <= 1)
    return `its gain, ${formatRatio(value)} (95 % interval ${formatRatio(low)} to ${formatRatio(high)}), may be none`;
  if (value < 1 + leastGain)
    return `its gain, ${formatRatio(value)}, is below the ${formatFigure(100 * leastGain)} % of --least-gain`;
  return null;
}

const keepBaseline = (baseline: Trial, rejected: NonNullable<GainDecided['rejected']>): Decision => ({
  best: baseline.number,
  gain: { value: 1, low: 1, high: 1 },
  verdict: 'nothing-better',
  rejected,
});

/** Decides for the original config, without a final, over the best of the search. */
export const decideForBaseline = (
  baseline: Trial,
  contender: Trial,
  reason = 'it promised too little over the original config',
): Decision => keepBaseline(baseline, { trial: contender.number, gain: null, reason });

const toRejection = (
  { side }: Finalist,
  reason: string,
  gain: Interval | null,
): NonNullable<GainDecided['rejected']> => ({ trial: side.trial.number, gain, reason });

function toFinalist(side: Side, baseline: Side, goal: Goal): Finalist | null {
  const pairs = listPairs(side, baseline);
  if (pairs.length === 0) return null;
  const kept = mostlyMeets(
    pairs.map(([first]) => first),
    side.trial,
    goal,
  );
  return { side, pairs, holds: side.holds && (side.curve ? wasSeenToHold(side) : kept), cost: computeCost(side, goal) };
}

/** True if the final measured the side at a level where it is likely to keep the budget. */
const wasSeenToHold = ({ readings, curve }: Side): boolean =>
  readings.some(({ measurement }) => curve !== null && curve.chance(measurement.level.value) >= LIKELY);

/**
 * Returns the best finalist that holds, preferring those with two pairs or more, and of these those
 * with a gain; of equally good ones the simplest. undefined without finalists.
 */
function findWinner(met: readonly Finalist[], baseline: Side, goal: Goal, leastGain: number): Finalist | undefined {
  const holding = met.filter(({ holds }) => holds);
  // One round does not show its error.
  const known = holding.filter(({ pairs }) => pairs.length > 1);
  const ranked = (known.length > 0 ? known : holding).toSorted(
    (a, b) => a.cost - b.cost || a.side.trial.number - b.side.trial.number,
  );
  const gaining = ranked.filter((finalist) => {
    const gain = computeGain(finalist.pairs, finalist.side, baseline, goal);
    return reasonForBaseline(finalist, baseline, gain, goal, leastGain) === null;
  });
  const [best] = gaining;
  if (!best) return ranked[0] ?? met[0];
  return gaining
    .filter((finalist) => finalist === best || isTie(best.side, finalist.side, goal))
    .sort((a, b) => compareSimplicity(a.side.trial, b.side.trial, baseline.trial.candidate))[0];
}

/**
 * True if the rounds do not show that the first side is better, and it is so by little if at all.
 */
function isTie(first: Side, second: Side, goal: Goal): boolean {
  const lead = computeGain(listPairs(first, second), first, second, goal);
  return lead !== null && lead.low <= 1 && Math.log(lead.value) <= MAX_TIE;
}
