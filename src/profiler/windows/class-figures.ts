import { allClasses, type ClassTally } from '#loadgen/class-tally.ts';
import { meanInterval } from '#stats/batch-means.ts';
import type { Interval } from '#stats/interval.ts';
import { quantileInterval } from '#stats/quantile-interval.ts';
import { latencySummary } from '../latency-summary.ts';
import type { LevelOptions } from '../level-options.ts';
import type { ClassFigures, Measurement } from '../measurement.ts';
import { computePartRate, inMs, writable } from './figures.ts';
import type { WindowsOutcome } from './outcome.ts';

type ClassOrder = Pick<LevelOptions, 'level' | 'stability' | 'percentile' | 'limits' | 'requests'>;
type Counted = Pick<WindowsOutcome, 'batches'>;

/** Returns the requests per second that met all limits of their class; undefined without limits. */
export function computeGoodRate({ batches }: Counted, options: ClassOrder): Interval | undefined {
  if (batches.every(({ good }) => good === undefined)) return undefined;
  return computePartRate(batches, ({ good = 0 }) => good, options);
}

/**
 * Returns the share of the answered requests that failed or missed a limit of their class, with its
 * 95 % interval; undefined without limits. Unlike `computeGoodRate` it ignores requests that have
 * no reply yet.
 */
export function computeBadShare({ batches }: Counted): Interval | undefined {
  if (batches.every(({ good }) => good === undefined)) return undefined;
  const answered = batches.map(({ succeeded, failed }) => succeeded + failed);
  return writable(
    meanInterval(
      batches.map(({ good = 0 }, index) => (answered[index] as number) - good),
      answered,
    ),
  );
}

/**
 * Returns the figures of each request class; undefined without classes. Dropped requests count as
 * failed. The rates of the classes add up to that of all requests, since each is a part of the due
 * requests.
 */
export function summarizeClasses(
  { batches }: Counted,
  options: ClassOrder,
  droppedOf: readonly number[] | null,
): readonly ClassFigures[] | undefined {
  const all = allClasses(batches);
  const { classes } = options.requests;
  if (all === undefined || classes === undefined) return undefined;
  return all.map(({ failed, latencies }, index) => {
    const ofBatch = (batch: (typeof batches)[number]): ClassTally | undefined => batch.classes?.[index];
    const { name, limits = options.limits } = classes[index] as (typeof classes)[number];
    const histograms = batches.flatMap((batch) => ofBatch(batch)?.latencies ?? []);
    const dropped = droppedOf?.[index] ?? 0;
    return {
      name,
      requests: latencies.count + failed,
      failures: failed + dropped,
      throughput: computePartRate(batches, (batch) => ofBatch(batch)?.latencies.count ?? 0, options),
      ...(limits && { goodput: computePartRate(batches, (batch) => ofBatch(batch)?.good ?? 0, options) }),
      latencyMs: latencySummary(latencies),
      ...(latencies.count > 0 && {
        budgetLatencyMs: {
          percentile: options.percentile,
          ...inMs(quantileInterval(histograms, latencies, options.percentile / 100)),
        },
      }),
    };
  });
}

/**
 * Returns a measurement's goodput, wherever it is: earlier versions had it only among the tokens.
 */
export const findGoodput = ({ goodput, tokens }: Pick<Measurement, 'goodput' | 'tokens'>): Interval | undefined =>
  goodput ?? tokens?.goodput;
