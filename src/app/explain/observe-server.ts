import type { Clock } from '../../base/clock.ts';
import { isTrituneError, TrituneError } from '../../base/errors.ts';
import { NS_PER_MS } from '../../base/units.ts';
import type { CounterReading } from '../../explain/readings.ts';
import type { ServerStats } from '../../triton/types.ts';

/** Milliseconds from one reading to the next. */
const INTERVAL_MS = 1000;
/** The largest share of the time that readings take: a server of many models answers slowly. */
const MAX_READING_SHARE = 0.02;
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
 * Reads the counters of all models, about once a second for so long. It calls nothing but the
 * statistics. Errors: SERVER_* if a server fails several times in a row; INPUT_INVALID if it ended
 * before the second reading.
 */
export async function observeServer(
  client: ServerStats,
  seconds: number,
  { clock, signal, onReading }: Watching,
): Promise<readonly CounterReading[]> {
  const readings: CounterReading[] = [];
  const endNs = clock.nowNs() + seconds * 1e9;
  let failures = 0;
  let nextNs = clock.nowNs();
  for (;;) {
    const startNs = clock.nowNs();
    const statistics = await client.statistics('', { signal }).catch((error: unknown) => {
      failures += 1;
      if (signal.aborted) return null;
      if (failures >= MAX_FAILURES || !isTrituneError(error)) throw error;
      return null;
    });
    if (statistics) {
      readings.push({ atNs: (startNs + clock.nowNs()) / 2, statistics });
      failures = 0;
      onReading(readings);
    }
    if (signal.aborted) break;
    const readingMs = (clock.nowNs() - startNs) / NS_PER_MS;
    nextNs = Math.max(nextNs + INTERVAL_MS * NS_PER_MS, startNs + (readingMs / MAX_READING_SHARE) * NS_PER_MS);
    if (clock.nowNs() >= endNs) break;
    try {
      await clock.sleep(Math.max(0, Math.min(nextNs, endNs) - clock.nowNs()) / NS_PER_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      break;
    }
  }
  if (readings.length >= 2) return readings;
  throw new TrituneError('INPUT_INVALID', 'the counters were read only once', 'observe for longer (--for)');
}
