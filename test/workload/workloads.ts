import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import type { Workload } from '#workload/workload.ts';

/** A workload of the content of its file, but for the version. */
export const workloadOf = (content: object): Promise<Workload> =>
  parseWorkload(JSON.stringify({ workloadVersion: 1, ...content }), 'test.yaml');

/** The gaps between requests of a pass that is played over and over, in nanoseconds. */
export const gapsOf = ({ arrivalsNs, durationNs }: ArrivalPlan): Float64Array =>
  arrivalsNs.map((ns, index) => (arrivalsNs[index + 1] ?? (arrivalsNs[0] as number) + durationNs) - ns);

/** Requests in each of so many equal parts of a pass. */
export function countsIn({ arrivalsNs, durationNs }: ArrivalPlan, parts: number): number[] {
  const counts = Array.from({ length: parts }, () => 0);
  for (const ns of arrivalsNs) {
    const part = Math.min(parts - 1, Math.floor((ns / durationNs) * parts + 1e-9));
    counts[part] = (counts[part] as number) + 1;
  }
  return counts;
}

const meanOf = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;

export function coefficientOfVariation(values: ArrayLike<number>): number {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(Array.from(values, (value) => (value - mean) ** 2))) / mean;
}

export function correlation(one: readonly number[], other: readonly number[]): number {
  const [meanOne, meanOther] = [meanOf(one), meanOf(other)];
  const product = meanOf(one.map((value, index) => (value - meanOne) * ((other[index] as number) - meanOther)));
  return product / (coefficientOfVariation(one) * meanOne * coefficientOfVariation(other) * meanOther);
}
