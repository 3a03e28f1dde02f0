import { geometricMean, type Interval } from '#stats/interval.ts';
import type { GateDocument, MetricReading } from './readings.ts';

/** One figure of both sides, with a reading for each document that has it. */
export interface Figure {
  readonly before: readonly MetricReading[];
  readonly after: readonly MetricReading[];
  /** True if every document has it. */
  readonly isWhole: boolean;
}

/** Returns every figure that any baseline has, grouped by metric. */
export function figuresByMetric(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
): readonly (readonly Figure[])[] {
  const first = new Map<string, MetricReading>();
  for (const reading of baselines.flatMap(({ readings }) => readings)) {
    const name = `${reading.metric}\n${reading.subject}`;
    if (!first.has(name)) first.set(name, reading);
  }
  const metrics = [...new Set([...first.values()].map(({ metric }) => metric))];
  return metrics.map((metric) =>
    [...first.values()]
      .filter((reading) => reading.metric === metric)
      .map((reading) => {
        const [before, after] = [sameReadings(reading, baselines), sameReadings(reading, runs)];
        return { before, after, isWhole: before.length === baselines.length && after.length === runs.length };
      }),
  );
}

const sameReadings = (
  { subject, metric }: MetricReading,
  documents: readonly GateDocument[],
): readonly MetricReading[] =>
  documents.flatMap(
    ({ readings }) => readings.find((other) => other.subject === subject && other.metric === metric) ?? [],
  );

export const listIntervals = (readings: readonly MetricReading[]): readonly Interval[] =>
  readings.map(({ interval }) => interval);

/** Returns one or more readings as one: their geometric mean. */
export const meanReading = (readings: readonly MetricReading[]): MetricReading => ({
  ...(readings[0] as MetricReading),
  interval: geometricMean(listIntervals(readings)),
});
