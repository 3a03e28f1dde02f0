import { geometricMean, type Interval } from '../../stats/interval.ts';
import type { GateDocument, Reading } from './readings.ts';

/** One figure of both sides, with a reading for each document that has it. */
export interface Figure {
  readonly before: readonly Reading[];
  readonly after: readonly Reading[];
  /** True if every document has it. */
  readonly isWhole: boolean;
}

/** Returns every figure that any baseline has, grouped by metric. */
export function figuresByMetric(
  baselines: readonly GateDocument[],
  runs: readonly GateDocument[],
): readonly (readonly Figure[])[] {
  const first = new Map<string, Reading>();
  for (const reading of baselines.flatMap(({ readings }) => readings)) {
    const name = `${reading.metric}\n${reading.subject}`;
    if (!first.has(name)) first.set(name, reading);
  }
  const metrics = [...new Set([...first.values()].map(({ metric }) => metric))];
  return metrics.map((metric) =>
    [...first.values()]
      .filter((reading) => reading.metric === metric)
      .map((reading) => {
        const [before, after] = [found(reading, baselines), found(reading, runs)];
        return { before, after, isWhole: before.length === baselines.length && after.length === runs.length };
      }),
  );
}

const found = ({ subject, metric }: Reading, documents: readonly GateDocument[]): readonly Reading[] =>
  documents.flatMap(
    ({ readings }) => readings.find((other) => other.subject === subject && other.metric === metric) ?? [],
  );

export const intervalsOf = (readings: readonly Reading[]): readonly Interval[] =>
  readings.map(({ interval }) => interval);

/** Returns one or more readings as one: their geometric mean. */
export const meanReading = (readings: readonly Reading[]): Reading => ({
  ...(readings[0] as Reading),
  interval: geometricMean(intervalsOf(readings)),
});
