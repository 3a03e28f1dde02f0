import { median } from 'simple-statistics';

/** A client's view of a server at one load level. */
export interface ClientReading {
  /** infer/s. */
  readonly throughput: number;
  readonly p99Ms: number;
}

/** Readings of one config by load level, one of each round. */
export type ReadingsByLevel = ReadonlyMap<number, readonly ClientReading[]>;

export const computeMedian = (readings: readonly ClientReading[]): ClientReading => ({
  throughput: median(readings.map(({ throughput }) => throughput)),
  p99Ms: median(readings.map(({ p99Ms }) => p99Ms)),
});

export const inWords = ({ throughput, p99Ms }: ClientReading): string =>
  `${throughput.toFixed(0)} infer/s, p99 ${p99Ms.toFixed(2)} ms`;

/** Returns the best reading within the budget; undefined if none keeps it. */
export function bestWithin<T extends ClientReading>(readings: readonly T[], budgetMs: number): T | undefined {
  return readings.filter(({ p99Ms }) => p99Ms <= budgetMs).sort((a, b) => b.throughput - a.throughput)[0];
}

/**
 * Returns the throughput within the budget at the best level, in each round; 0 if no level keeps
 * it.
 */
export function bestByRound(byLevel: ReadingsByLevel, budgetMs: number): number[] {
  const levels = [...byLevel.values()];
  const rounds = Math.max(0, ...levels.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => {
    const readings = levels.flatMap((each) => each[round] ?? []);
    return bestWithin(readings, budgetMs)?.throughput ?? 0;
  });
}
