import { LatencyHistogram, type PackedHistogram } from '#stats/histogram.ts';

/** The counts of one request class in a batch. */
export interface ClassTally<H = LatencyHistogram> {
  readonly failed: number;
  /** Successful requests within the limits of the class; all of them without limits. */
  readonly good: number;
  /**
   * Latencies of the successful requests: from the due time if there is one, else from the sending.
   */
  readonly latencies: H;
}

/** The same in a form that can be sent between threads. */
export type PackedClassTally = ClassTally<PackedHistogram>;

/** Counts requests of one class as they complete; a request takes no memory. */
export class ClassCount implements ClassTally {
  failed = 0;
  good = 0;
  readonly latencies = new LatencyHistogram();

  /** Empties the counts and keeps the memory. */
  reset(): void {
    this.failed = 0;
    this.good = 0;
    if (this.latencies.count > 0) this.latencies.reset();
  }
}

export const packClasses = (tallies: readonly ClassTally[]): readonly PackedClassTally[] =>
  tallies.map(({ failed, good, latencies }) => ({ failed, good, latencies: latencies.pack() }));

export const unpackClasses = (packed: readonly PackedClassTally[]): readonly ClassTally[] =>
  packed.map(({ failed, good, latencies }) => ({ failed, good, latencies: LatencyHistogram.unpack(latencies) }));

/** Returns the tallies of all batches together, by class; undefined if no batch has any. */
export function allClasses(
  batches: readonly { readonly classes?: readonly ClassTally[] }[],
): readonly ClassTally[] | undefined {
  const [first, ...others] = batches.flatMap(({ classes }) => (classes ? [classes] : []));
  if (first === undefined || others.length === 0) return first;
  return first.map((_, index) => {
    const whole = new ClassCount();
    for (const classes of [first, ...others]) {
      const { failed, good, latencies } = classes[index] as ClassTally;
      whole.failed += failed;
      whole.good += good;
      whole.latencies.merge(latencies);
    }
    return whole;
  });
}
