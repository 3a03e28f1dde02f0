import type { Clock } from '#base/clock.ts';
import { MS_PER_S, nsToMs } from '#base/units.ts';
import type { Turn } from './open-series.ts';

/**
 * `--time-budget` covers all runs of the whole series. When a turn begins, the time left is split
 * evenly among the models that have not had their turn. Returns the seconds for all runs of one
 * study together; undefined for no limit.
 */
export function timeShares(
  timeBudget: number | undefined,
  turns: readonly Pick<Turn, 'spentSeconds'>[],
  clock: Clock,
): { computeShare(turn: Pick<Turn, 'spentSeconds'>, modelsLeft: number): number | undefined } {
  const startNs = clock.nowNs();
  const before = turns.reduce((sum, { spentSeconds }) => sum + spentSeconds, 0);
  return {
    computeShare: (turn, modelsLeft) => {
      if (timeBudget === undefined) return undefined;
      const left = timeBudget - before - nsToMs(clock.nowNs() - startNs) / MS_PER_S;
      return turn.spentSeconds + Math.max(0, left) / modelsLeft;
    },
  };
}
