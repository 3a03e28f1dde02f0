import { grown } from './ring.ts';
import { executionNs, loneExecutionNs, type ServiceLaw, slowdownPerInstance } from './service-law.ts';

const known = new WeakMap<ServiceLaw, MeanTimes>();

/** Returns the mean times of a law; the same object for the same law, which must not change. */
export function computeMeanTimes(law: ServiceLaw): MeanTimes {
  const times = known.get(law) ?? new MeanTimes(law);
  known.set(law, times);
  return times;
}

/**
 * Mean execution times by a law, as `executionNs` gives them; the parts that depend on the batch
 * size are computed once.
 */
class MeanTimes {
  readonly #law: ServiceLaw;
  readonly #interferes: boolean;
  /**
   * By batch size, which is whole: the time alone (0 if not computed yet), and the slowdown by each
   * additional busy instance.
   */
  #aloneNs = new Float64Array(64);
  #slowdowns = new Float64Array(64);

  constructor(law: ServiceLaw) {
    this.#law = law;
    this.#interferes = law.interference.perInstance !== 0;
  }

  /**
   * Returns the mean time of one execution in nanoseconds. `busyInstances` counts the executing
   * one.
   */
  executionNs(batchSize: number, busyInstances: number): number {
    const alone = this.#aloneNs[batchSize];
    if (!alone) return this.#computeFirst(batchSize, busyInstances);
    if (!this.#interferes || busyInstances <= 1) return alone;
    return alone * (1 + (this.#slowdowns[batchSize] as number) * (busyInstances - 1));
  }

  #computeFirst(batchSize: number, busyInstances: number): number {
    if (Number.isInteger(batchSize)) {
      while (batchSize >= this.#aloneNs.length) {
        this.#aloneNs = grown(this.#aloneNs);
        this.#slowdowns = grown(this.#slowdowns);
      }
      this.#aloneNs[batchSize] = loneExecutionNs(this.#law, batchSize);
      this.#slowdowns[batchSize] = slowdownPerInstance(this.#law, batchSize);
    }
    return executionNs(this.#law, batchSize, busyInstances);
  }
}
