/**
 * Runs `work` on all items at the same time and returns the results. If one fails, aborts the
 * signal of the others, waits for all to end and throws its error.
 */
export async function allOrNone<T, R>(
  signal: AbortSignal,
  each: readonly T[],
  work: (one: T, signal: AbortSignal, index: number) => Promise<R>,
): Promise<R[]> {
  const stop = new AbortController();
  const joint = AbortSignal.any([signal, stop.signal]);
  const failures: unknown[] = [];
  const settled = await Promise.allSettled(
    each.map(async (one, index) => {
      try {
        return await work(one, joint, index);
      } catch (error) {
        failures.push(error);
        stop.abort(error);
        throw error;
      }
    }),
  );
  if (failures.length > 0) throw failures[0];
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<R>).value);
}
