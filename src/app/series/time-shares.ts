import type { Clock } from '../../base/clock.ts';
import { MS_PER_S, nsToMs } from '../../base/units.ts';
import type { Turn } from './open-series.ts';

/**
 * `--time-budget` is for the whole series, all of its runs together: what is left of it when a turn begins is shared alike
 * among the models that have not had theirs. Gives the seconds of all runs of one study together; undefined for no limit.
 */
export function timeShares(
  timeBudget: number | undefined,
  turns: readonly Pick<Turn, 'spentSeconds'>[],
  clock: Clock,
): { shareOf(turn: Pick<Turn, 'spentSeconds'>, modelsLeft: number): number | undefined } {
  const startNs = clock.nowNs();
  const before = turns.reduce((sum, { spentSeconds }) => sum + spentSeconds, 0);
  return {
    shareOf: (turn, modelsLeft) => {
      if (timeBudget === undefined) return undefined;
      const left = timeBudget - before - nsToMs(clock.nowNs() - startNs) / MS_PER_S;
      return turn.spentSeconds + Math.max(0, left) / modelsLeft;
    },
  };
}
