import type { Interval } from '../../stats/interval.ts';
import { LIKELY } from '../level/chances.ts';
import type { GainDecided } from '../records/records.ts';
import type { Goal } from '../types.ts';
import { gainOf, type Pairs, pairsOf } from './pairs.ts';
import type { Rounds } from './rounds.ts';
import { costOf, mostlyMeets, type Side } from './sides.ts';

/** A finalist, and its pairs with the original config. */
interface Finalist {
  readonly side: Side;
  readonly pairs: Pairs;
  readonly holds: boolean;
  readonly cost: number;
}

/**
 * Decides the final: the best of the finalists that hold; the original config when none does but it, or when the best is certainly worse.
 * `unplayed`: candidates that the final had no time for, the best first; where no finalist holds, the first of these wins without a gain.
 * There is no gain either where no round has deciding readings of both; then the best of the search stands.
 */
export function decide(
  { played, baseline }: Pick<Rounds, 'played' | 'baseline'>,
  goal: Goal,
  unplayed: readonly Side[] = [],
): Omit<GainDecided, 'type' | 'at'> {
  const met = played.flatMap((side) => finalistOf(side, baseline, goal) ?? []);
  const winner = winnerOf(met);
  if (!winner) return { best: (played.find(({ holds }) => holds) ?? baseline).trial.number, gain: null };
  const gain = gainOf(winner.pairs, winner.side, baseline, goal);
  const [instead] = winner.holds ? [] : unplayed;
  if (instead) return { best: instead.trial.number, gain: null, rejected: rejectedFor(winner, gain) };
  const isRejected = isWorse(winner, baseline, gain);
  if (!isRejected) return { best: winner.side.trial.number, gain };
  return {
    best: baseline.trial.number,
    gain: { value: 1, low: 1, high: 1 },
    rejected: rejectedFor(winner, gain),
  };
}

/**
 * True if the original config is the better advice: both hold and there is no gain; it alone holds; or neither holds and there is no
 * sign of a gain.
 */
function isWorse({ holds }: Finalist, baseline: Side, gain: Interval | null): boolean {
  if (!holds) return baseline.holds || gain === null || gain.high < 1;
  return baseline.holds && (gain === null || gain.high < 1);
}

/** Decides for the original config, without a final, over the best of the search. */
export const decideForBaseline = (baseline: Side, contender: Side): Omit<GainDecided, 'type' | 'at'> => ({
  best: baseline.trial.number,
  gain: { value: 1, low: 1, high: 1 },
  rejected: { trial: contender.trial.number, gain: null, reason: 'it promised too little over the original config' },
});

const rejectedFor = ({ side, holds }: Finalist, gain: Interval | null): NonNullable<GainDecided['rejected']> => ({
  trial: side.trial.number,
  gain,
  reason: holds ? 'it was not better than the original config' : 'it missed the goal in the final',
});

function finalistOf(side: Side, baseline: Side, goal: Goal): Finalist | null {
  const pairs = pairsOf(side, baseline);
  if (pairs.length === 0) return null;
  const kept = mostlyMeets(
    pairs.map(([own]) => own),
    side.trial,
    goal,
  );
  return { side, pairs, holds: side.holds && (side.curve ? wasSeenToHold(side) : kept), cost: costOf(side, goal) };
}

/** True if the final measured the side at a level where it is likely to keep the budget. */
const wasSeenToHold = ({ readings, curve }: Side): boolean =>
  readings.some(({ measurement }) => curve !== null && curve.chance(measurement.level.value) >= LIKELY);

/** Returns the best finalist that holds, preferring those with two pairs or more; undefined without finalists. */
function winnerOf(met: readonly Finalist[]): Finalist | undefined {
  const best = (some: readonly Finalist[]): Finalist | undefined =>
    [...some].sort((a, b) => a.cost - b.cost || a.side.trial.number - b.side.trial.number)[0];
  const holding = met.filter(({ holds }) => holds);
  // One round does not show its error.
  const known = holding.filter(({ pairs }) => pairs.length > 1);
  return best(known) ?? best(holding) ?? met[0];
}
