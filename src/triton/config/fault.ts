/** A rule of Triton's that a config breaks. */
export interface ConfigFault {
  /** Such as `dynamic_batching.preferred_batch_size[0]`. */
  readonly path: string;
  readonly reason: string;
}

/** Returns the fault if the rule is broken, else nothing, so that rules read as lists. */
export const faultIf = (broken: boolean, path: string, reason: string): readonly ConfigFault[] =>
  broken ? [{ path, reason }] : [];

/** Checks the preferred batch sizes of any batcher. */
export function preferredSizeFaults(
  sizes: readonly number[],
  maxBatchSize: number,
  path: string,
): readonly ConfigFault[] {
  return sizes.flatMap((size, i) => [
    ...faultIf(size < 1, `${path}[${i}]`, `${size} must be 1 or more`),
    ...faultIf(size > maxBatchSize, `${path}[${i}]`, `${size} is above max_batch_size ${maxBatchSize}`),
  ]);
}
