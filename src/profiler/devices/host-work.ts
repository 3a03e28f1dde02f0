import { NS_PER_US } from '../../base/units.ts';

/** One piece takes about a third of a millisecond on a core of 3 GHz. */
const STEPS = 200_000;
/** A piece that others did not interrupt is wanted: of this many, the quickest. */
const PIECES = 6;
/** Runs before the first measured one, so that the machine code is the same from then on. */
const WARM_UP_PIECES = 60;

/**
 * Gives a function that does a fixed piece of work on this thread and returns what it took, in microseconds: the quickest of six pieces, two
 * milliseconds in all. It tells how fast this host's cores are at that moment. On an idle core its readings differ by 1 to 2 % (120 readings
 * over two minutes beside a Triton between its measurements).
 */
export function hostWork(nowNs: () => number): () => number {
  let state = 1;
  const piece = (): number => {
    const startNs = nowNs();
    for (let step = 0; step < STEPS; step++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      state ^= state >>> 13;
    }
    return (nowNs() - startNs) / NS_PER_US;
  };
  for (let warm = 0; warm < WARM_UP_PIECES; warm++) piece();
  return () => {
    let least = Number.POSITIVE_INFINITY;
    for (let count = 0; count < PIECES; count++) least = Math.min(least, piece());
    return least;
  };
}
