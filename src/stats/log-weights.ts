/** Returns the logarithm of the sum of numbers, given their logarithms; without overflow. */
export function logSum(logs: readonly number[]): number {
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - most), 0));
}

/** Returns the weights that add up to 1, given their logarithms up to a constant. */
export function computeWeights(logs: readonly number[]): readonly number[] {
  const all = logSum(logs);
  return logs.map((log) => Math.exp(log - all));
}
