import type { Interval } from '../../stats/interval.ts';
import { LIKELY } from '../level/chances.ts';
import type { GainDecided } from '../records.ts';
import type { Goal } from '../types.ts';
import { gainOf, type Pairs, pairsOf } from './pairs.ts';
import type { Rounds } from './rounds.ts';
import { costOf, mostlyMeets, type Side } from './sides.ts';

/** A finalist, and how it did beside the original config. */
interface Finalist {
  readonly side: Side;
  readonly pairs: Pairs;
  readonly holds: boolean;
  readonly cost: number;
}

/**
 * The best of the finalists that hold; the original config when none of them does but it does, or when the best is certainly worse.
 * `unplayed`: those that the final had no time for, the best of the search first; where none of the finalists holds, the first of these
 * is taken, with no gain to tell. Nor is there one where no round has readings of both that decide: the best of the search stands then.
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
 * Whether the original config is the better advice: both hold and there is no gain; it holds alone; or neither does and nothing tells of
 * a gain.
 */
function isWorse({ holds }: Finalist, baseline: Side, gain: Interval | null): boolean {
  if (!holds) return baseline.holds || gain === null || gain.high < 1;
  return baseline.holds && (gain === null || gain.high < 1);
}

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

/** The final measured it at a level at which it is likely to keep the budget: what the search alone saw, or what was only worked out, is no advice. */
const wasSeenToHold = ({ readings, curve }: Side): boolean =>
  readings.some(({ measurement }) => curve !== null && curve.chance(measurement.level.value) >= LIKELY);

/** undefined without finalists. */
function winnerOf(met: readonly Finalist[]): Finalist | undefined {
  const best = (some: readonly Finalist[]): Finalist | undefined =>
    [...some].sort((a, b) => a.cost - b.cost || a.side.trial.number - b.side.trial.number)[0];
  const holding = met.filter(({ holds }) => holds);
  // One round alone says nothing of its own error.
  const known = holding.filter(({ pairs }) => pairs.length > 1);
  return best(known) ?? best(holding) ?? met[0];
}
