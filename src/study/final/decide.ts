import { mean } from 'simple-statistics';
import type { Interval } from '../../stats/interval.ts';
import { assess } from '../goal.ts';
import type { GainDecided } from '../records.ts';
import type { Goal } from '../types.ts';
import { gainOf, heldIn, latestPairs, type Pairs, standsBelow } from './pairs.ts';
import type { Side } from './sides.ts';
import type { Standoff } from './standoff.ts';

/** A finalist, and how it did beside the original config. */
interface Finalist {
  readonly side: Side;
  readonly pairs: Pairs;
  /** It met the goal in most rounds. */
  readonly holds: boolean;
  /** Or the search met it at a level below: at that level it is then reported. */
  readonly stands: boolean;
  readonly cost: number;
}

/**
 * The best of the finalists that met the goal in most rounds; else the first that stands at a level below its rounds',
 * with no gain to tell. The original config when none of them stands but it does, or when the best is certainly worse. `unplayed`: those
 * that the final had no time for, the best of the search first; where none of the finalists stands, the first of these is taken, with no
 * gain to tell either.
 */
export function decide(
  { finalists, baseline }: Pick<Standoff, 'finalists' | 'baseline'>,
  goal: Goal,
  unplayed: readonly Side[] = [],
): Omit<GainDecided, 'type' | 'at'> {
  const met = finalists.flatMap((side) => finalistOf(side, baseline, goal) ?? []);
  const winner = winnerOf(met);
  const baselineStands = heldIn(winner.pairs, 1, baseline, goal) || standsBelow(winner.pairs, 1, baseline, goal);
  if (winner.stands && !winner.holds) return { best: winner.side.trial.number, gain: null };
  const gain = gainOf(winner.pairs, winner.side, baseline, goal);
  const [instead] = winner.stands ? [] : unplayed;
  if (instead) return { best: instead.trial.number, gain: null, rejected: rejectedFor(winner, gain) };
  const isRejected = winner.stands === baselineStands ? gain === null || gain.high < 1 : baselineStands;
  if (!isRejected) return { best: winner.side.trial.number, gain };
  return {
    best: baseline.trial.number,
    gain: { value: 1, low: 1, high: 1 },
    rejected: rejectedFor(winner, gain),
  };
}

const rejectedFor = ({ side, stands }: Finalist, gain: Interval | null): NonNullable<GainDecided['rejected']> => ({
  trial: side.trial.number,
  gain,
  reason: stands ? 'it was not better than the original config' : 'it missed the goal in the final',
});

function finalistOf(side: Side, baseline: Side, goal: Goal): Finalist | null {
  const pairs = latestPairs(side, baseline);
  if (pairs.length === 0) return null;
  const holds = heldIn(pairs, 0, side, goal);
  const cost = mean(pairs.map(([own]) => assess(own, side.trial.candidate, goal).cost));
  return { side, pairs, holds, stands: holds || standsBelow(pairs, 0, side, goal), cost };
}

function winnerOf(met: readonly Finalist[]): Finalist {
  const best = (some: readonly Finalist[]): Finalist | undefined =>
    [...some].sort((a, b) => a.cost - b.cost || a.side.trial.number - b.side.trial.number)[0];
  const holding = met.filter(({ holds }) => holds);
  // One round alone says nothing of its own error.
  const known = holding.filter(({ pairs }) => pairs.length > 1);
  return best(known) ?? best(holding) ?? met.find(({ stands }) => stands) ?? (met[0] as Finalist);
}
