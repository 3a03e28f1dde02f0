/** A gain in throughput up to this factor counts as none. */
const NO_MORE = 1.05;

/**
 * Returns the index of the first throughput that no later one exceeds by more than 5 %; -1 if it
 * grows to the last one.
 */
export const growthEnd = (throughputs: readonly number[]): number =>
  throughputs.findIndex(
    (each, index) => index < throughputs.length - 1 && Math.max(...throughputs.slice(index + 1)) <= NO_MORE * each,
  );
