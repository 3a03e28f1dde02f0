import { NS_PER_US } from '#base/units.ts';

/** One piece takes about a third of a millisecond on a core of 3 GHz. */
const STEPS = 200_000;
/** The quickest of this many pieces counts, because other processes did not interrupt it. */
const PIECES = 6;
/** Pieces to run before the first measured one, so that the machine code no longer changes. */
const WARM_UP_PIECES = 60;

/**
 * Returns a function that does a fixed piece of work on this thread and returns the time it took,
 * in microseconds: the quickest of six pieces, two milliseconds in total. It shows how fast this
 * host's cores are at that moment. On an idle core its readings differ by 1 to 2 % (120 readings
 * over two minutes next to a Triton between its measurements).
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
