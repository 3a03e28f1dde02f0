import type { Clock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { CounterReading } from '#explain/readings.ts';
import type { ModelStatistics, ServerStats } from '#triton/types.ts';

/** Milliseconds from one reading to the next, at first. */
const INTERVAL_MS = 1000;
/** The largest share of the time that readings take: a server of many models answers slowly. */
const MAX_READING_SHARE = 0.02;
/** More readings are thinned out: every second one stays, and the next ones come half as often. */
const MAX_READINGS = 600;
/** Readings that may fail one after another. */
const MAX_FAILURES = 5;

/** What to do with the readings. */
export interface Watching {
  readonly clock: Clock;
  /** Ends the observation early. */
  readonly signal: AbortSignal;
  /** Called after each reading. */
  readonly onReading: (readings: readonly CounterReading[]) => void;
}

/**
 * Reads the counters of all models, about once a second for so long; without an end, the latest
 * readings stay. It calls nothing but the statistics. Errors: SERVER_* if a server fails several
 * times in a row; INPUT_INVALID if it ended before the second reading.
 */
export async function observeServer(
  client: ServerStats,
  seconds: number,
  { clock, signal, onReading }: Watching,
): Promise<readonly CounterReading[]> {
  let readings: CounterReading[] = [];
  let intervalNs = INTERVAL_MS * NS_PER_MS;
  const endNs = clock.nowNs() + seconds * NS_PER_S;
  let failures = 0;
  for (let nextNs = clock.nowNs(); !signal.aborted; ) {
    const startNs = clock.nowNs();
    const statistics = await client.statistics('', { signal }).catch((error: unknown) => {
      failures += 1;
      if (!signal.aborted && (failures >= MAX_FAILURES || !isTrituneError(error))) throw error;
      return null;
    });
    if (statistics) {
      failures = 0;
      readings.push({ atNs: (startNs + clock.nowNs()) / 2, statistics: sharing(readings.at(-1), statistics) });
      onReading(readings);
    }
    if (readings.length > MAX_READINGS && seconds === Number.POSITIVE_INFINITY)
      readings = readings.slice(-MAX_READINGS);
    else if (readings.length > MAX_READINGS) {
      readings = readings.filter((_, index) => index % 2 === 0);
      intervalNs *= 2;
    }
    nextNs = Math.max(nextNs + intervalNs, startNs + (clock.nowNs() - startNs) / MAX_READING_SHARE);
    if (clock.nowNs() >= endNs) break;
    await clock.sleep((Math.min(nextNs, endNs) - clock.nowNs()) / NS_PER_MS, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  if (readings.length >= 2) return readings;
  throw new TrituneError('INPUT_INVALID', 'the counters were read only once', 'observe for longer (--for)');
}

/** Returns the statistics with the objects of the reading before for models that did nothing. */
function sharing(
  before: CounterReading | undefined,
  statistics: readonly ModelStatistics[],
): readonly ModelStatistics[] {
  const known = new Map(before?.statistics.map((each) => [`${each.name} ${each.version}`, each]));
  return statistics.map((each) => {
    const earlier = known.get(`${each.name} ${each.version}`);
    const isSame = earlier && listCounts(earlier).every((count, index) => count === listCounts(each)[index]);
    return isSame ? earlier : each;
  });
}

const listCounts = ({ success, fail, executionCount, inferenceCount }: ModelStatistics): readonly number[] => [
  ...[success.count, success.ns, fail.count, executionCount, inferenceCount],
];
