import { type ChangeFactor, toChanges } from '#stats/change.ts';
import type { Interval } from '#stats/interval.ts';
import type { SummaryPoint } from './point-schema.ts';
import type { RankedModel, SeriesEntry } from './summary-schema.ts';

/**
 * The probability of any false order among the models of a series, split evenly over all pairs and
 * both sides.
 */
const FALSE_ORDER = 0.05;

/**
 * Returns the models that met their limits, those that serve most first. Two differ by the interval
 * of the ratio of their throughputs (`toChanges`), all pairs of a series together with 95 %
 * confidence (Bonferroni). Models measured one after another also differ by slow minutes of the
 * machine, which their intervals do not include.
 */
export function rankModels(entries: readonly SeriesEntry[]): readonly RankedModel[] {
  const served = entries
    .flatMap(({ model, feasible, best }) => {
      const throughput = feasible && best ? knownInterval(best.throughput) : null;
      return throughput ? [{ model, throughput }] : [];
    })
    .sort((a, b) => b.throughput.value - a.throughput.value);
  const pairs = (served.length * (served.length - 1)) / 2;
  const tail = FALSE_ORDER / 2 / Math.max(1, pairs);
  const [first] = served;
  return served.map(({ model, throughput }) => {
    const isSurelyMore = (other: Interval): boolean => toRatio(throughput, other, tail).low > 1;
    const rank = 1 + served.filter((other) => other.model !== model && isSurelyMore(other.throughput)).length;
    const isFirst = first?.model === model;
    return {
      model,
      rank,
      throughput,
      ofFirst: first && !isFirst ? toRatio(first.throughput, throughput, 0.025) : null,
    };
  });
}

/** `after` as a multiple of `before`; each bound is exceeded with the probability `tail`. */
function toRatio(before: Interval, after: Interval, tail: number): Pick<ChangeFactor, 'ratio' | 'low' | 'high'> {
  const { each } = toChanges([{ before: [before], after: [after] }], { each: tail, together: tail });
  const [{ ratio, low, high }] = each as [ChangeFactor];
  return { ratio, low, high };
}

/** null if a bound is unknown. */
function knownInterval({ value, low, high }: SummaryPoint['throughput']): Interval | null {
  return value !== null && low !== null && high !== null && value > 0 ? { value, low, high } : null;
}
