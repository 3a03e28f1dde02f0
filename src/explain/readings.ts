import { NS_PER_S } from '#base/units.ts';
import { requestsServed, serverBreakdown } from '#profiler/server-breakdown.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { ModelStatistics } from '#triton/types.ts';

/** The counters of a server's models at one time. */
export interface CounterReading {
  /** By a monotonic clock. */
  readonly atNs: number;
  readonly statistics: readonly ModelStatistics[];
}

/** The work of one model between two readings. */
export interface IntervalWork {
  readonly seconds: number;
  /** null if no request succeeded. */
  readonly breakdown: ServerBreakdown | null;
}

/** The work of one model over all readings. */
export interface ModelWork extends IntervalWork {
  /** Between each reading and the next one. */
  readonly intervals: readonly IntervalWork[];
  /** How often the counters restarted at 0, by a load. Only the readings after the last count. */
  readonly restarts: number;
  /** When requests arrived, exactly, from a trace of this or another time: rising. */
  readonly arrivalsNs?: Float64Array;
}

/** Mean times of a request in the server, in milliseconds. */
export const readTimesMs = ({
  queueUs,
  computeInputUs,
  computeInferUs,
  computeOutputUs,
  overheadUs,
}: ServerBreakdown) => ({
  queue: queueUs / 1e3,
  execution: (computeInputUs + computeInferUs + computeOutputUs) / 1e3,
  other: overheadUs / 1e3,
});

/** The work of the server's models, by name. */
export type ServerWork = ReadonlyMap<string, ModelWork>;

/** Returns the work of each model between the readings, of which there must be two. */
export function readServed(readings: readonly CounterReading[]): ServerWork {
  const byName = readings.map(({ atNs, statistics }) => ({
    atNs,
    models: Map.groupBy(statistics, ({ name }) => name),
  }));
  const names = new Set(byName.flatMap(({ models }) => [...models.keys()]));
  return new Map(
    [...names].map((name) => [
      name,
      readModel(byName.map(({ atNs, models }) => ({ atNs, statistics: models.get(name) ?? [] }))),
    ]),
  );
}

/** `counters`: those of one model, at least two. */
function readModel(counters: readonly CounterReading[]): ModelWork {
  const pairs = counters.slice(1).map((reading, index) => between(counters[index] as CounterReading, reading));
  const restart = pairs.findLastIndex(({ isRestart }) => isRestart);
  const whole = between(counters[restart + 1] as CounterReading, counters.at(-1) as CounterReading);
  return {
    seconds: whole.seconds,
    breakdown: whole.breakdown,
    intervals: pairs.slice(restart + 1).filter(({ seconds }) => seconds > 0),
    restarts: pairs.filter(({ isRestart }) => isRestart).length,
  };
}

function between(first: CounterReading, last: CounterReading): IntervalWork & { readonly isRestart: boolean } {
  const outcome = serverBreakdown(first.statistics, last.statistics, '');
  return {
    seconds: (last.atNs - first.atNs) / NS_PER_S,
    breakdown: outcome.usable ? outcome.breakdown : null,
    isRestart: requestsServed(first.statistics, last.statistics, '') === null,
  };
}
