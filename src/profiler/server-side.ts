import { throwIfInterrupted } from '#base/abort.ts';
import { formatMessage } from '#base/errors.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { ModelStatistics } from '#triton/types.ts';
import type { LevelOptions } from './level-options.ts';
import type { Measurement } from './measurement.ts';
import { requestsServed, serverBreakdown, shareOfBreakdown } from './server-breakdown.ts';

const STATISTICS_TIMEOUT_MS = 2000;
/**
 * Statistics that hold less than this share of the answered requests do not describe the same
 * requests.
 */
const MIN_COUNTED = 0.9;

/** `unread`: why there is no reading; null if none was expected. */
export type StatisticsReading = readonly ModelStatistics[] | { readonly unread: string | null };

/** The scope of the readings. */
interface ExpectedRequests {
  readonly requests: Pick<RequestSet, 'version' | 'isRescheduled'>;
  readonly mostInFlight: number;
  /** The counted share of the requests between the readings; 1 if absent. */
  readonly countedShare?: number;
}

export async function readStatistics(
  options: LevelOptions,
  model = options.requests.model,
): Promise<StatisticsReading> {
  if (options.stats === null) return { unread: null };
  try {
    const call = { timeoutMs: STATISTICS_TIMEOUT_MS, signal: options.signal };
    return await options.stats.statistics(model, call);
  } catch (error) {
    throwIfInterrupted(options.signal);
    return { unread: formatMessage(error) };
  }
}

/** As `readStatistics`, but never rejects; for readings that the caller may not await. */
export const readAtBoundary = (options: LevelOptions, model?: string): Promise<StatisticsReading> =>
  readStatistics(options, model).catch((error: unknown) => ({ unread: formatMessage(error) }));

export function serverSide(
  before: StatisticsReading,
  after: StatisticsReading,
  succeeded: number,
  { mostInFlight, requests, countedShare = 1 }: ExpectedRequests,
): Pick<Measurement, 'server' | 'serverNote'> {
  if ('unread' in before) return withoutServer(before.unread);
  if ('unread' in after) return withoutServer(after.unread);
  if (requests.isRescheduled)
    return withoutServer('the server counts a request of an iterative model each time that it executes it');
  const outcome = serverBreakdown(before, after, requests.version);
  if (!outcome.usable) return { server: null, serverNote: outcome.note };
  const counted = Math.round((requestsServed(before, after, requests.version) ?? 0) * countedShare);
  if (counted < MIN_COUNTED * succeeded - 2 * mostInFlight) {
    const note = `the server counted ${counted} requests where it answered ${succeeded}: was the model loaded anew, or is it one server of several?`;
    return { server: null, serverNote: note };
  }
  return { server: shareOfBreakdown(outcome.breakdown, countedShare) };
}

const withoutServer = (why: string | null): Pick<Measurement, 'server' | 'serverNote'> => ({
  server: null,
  ...(why !== null && { serverNote: why }),
});

/** Returns the breakdown of each model behind the measured one that served anything. */
export function composingSide(
  before: readonly StatisticsReading[],
  after: readonly StatisticsReading[],
  countedShare: number,
): NonNullable<Measurement['composing']> {
  return after.flatMap((second, index) => {
    const first = before[index] ?? { unread: '' };
    if ('unread' in first || 'unread' in second) return [];
    const outcome = serverBreakdown(first, second, '');
    const { name, version } = second.at(-1) ?? {};
    return outcome.usable && name !== undefined && version !== undefined
      ? [{ ...shareOfBreakdown(outcome.breakdown, countedShare), model: name, version }]
      : [];
  });
}
