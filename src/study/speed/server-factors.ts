import { mean } from 'simple-statistics';
import { cholesky, solveLower, solveUpper } from '#stats/cholesky.ts';
import type { Normal } from '#stats/gaussian-process.ts';

/** The logarithm of a rate that was measured on a server. */
export interface ServerReading {
  readonly server: string;
  /** The measured point; readings of the same point are compared. */
  readonly place: string;
  readonly log: number;
}

/** The prior difference between servers of a group, as a standard deviation of logarithms. */
const BETWEEN_SERVERS_SD = 0.15;
/**
 * The noise of a reading, likewise: two measurements of one config on one machine, including the
 * remaining drift.
 */
const READING_SD = 0.04;

/**
 * Estimates the log speed of servers relative to `reference`: random effects of servers and fixed
 * effects of places (the mixed-model equations of Henderson, 1950), so that a server with few
 * readings is assumed to be like the others. The reference has mean and standard deviation 0.
 */
export function serverFactors(readings: readonly ServerReading[], reference: string): ReadonlyMap<string, Normal> {
  const others = [...new Set(readings.map(({ server }) => server))].filter((server) => server !== reference);
  const precision = others.map((_, i) => {
    const row = new Float64Array(i + 1);
    row[i] = 1 / BETWEEN_SERVERS_SD ** 2;
    return row;
  });
  const right = others.map(() => 0);
  for (const serverReadings of Map.groupBy(readings, ({ place }) => place).values()) {
    // A place that only one server has measured compares it with none.
    if (serverReadings.every(({ server }) => server === serverReadings[0]?.server)) continue;
    const centre = mean(serverReadings.map(({ log }) => log));
    const counts = others.map((server) => serverReadings.filter((each) => each.server === server).length);
    const sums = others.map((server) =>
      serverReadings.filter((each) => each.server === server).reduce((sum, { log }) => sum + log - centre, 0),
    );
    // The effect of the place is eliminated, which leaves differences within it.
    for (const [i, row] of precision.entries()) {
      const count = counts[i] as number;
      if (count === 0) continue;
      right[i] = (right[i] as number) + (sums[i] as number) / READING_SD ** 2;
      for (let j = 0; j <= i; j++) {
        const shared = (count * (counts[j] as number)) / serverReadings.length;
        row[j] = (row[j] as number) + ((i === j ? count : 0) - shared) / READING_SD ** 2;
      }
    }
  }
  const factor = cholesky(
    precision,
    others.map(() => 0),
  );
  const effects = solveUpper(factor, solveLower(factor, right));
  const estimates = others.map((server, i): [string, Normal] => {
    const unit = others.map((_, j) => (i === j ? 1 : 0));
    const whitened = solveLower(factor, unit);
    const variance = whitened.reduce((sum, value) => sum + value * value, 0);
    return [server, { mean: effects[i] as number, sd: Math.sqrt(variance) }];
  });
  return new Map([[reference, { mean: 0, sd: 0 }], ...estimates]);
}
