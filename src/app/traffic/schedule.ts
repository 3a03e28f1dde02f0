import { TrituneError } from '#base/errors.ts';
import { MS_PER_S, NS_PER_MS, NS_PER_S } from '#base/units.ts';
import { readArrivals, readIntervals, readTimestamps } from '#loadgen/arrival-files.ts';
import { createPacer, type Schedule } from '#loadgen/pacers.ts';
import type { LevelSpec } from '#spec/profile-spec.ts';
import type { RequestSpec } from '#workload/request-spec.ts';

/**
 * Returns requests at a rate. The seed makes the arrivals the same every time, so that two
 * measurements do not differ by luck.
 */
export const rateSchedule = (
  { requestDistribution, seed }: Pick<LevelSpec, 'requestDistribution'> & { readonly seed: number },
  perSecond: number,
): Schedule =>
  requestDistribution === 'poisson' ? { kind: 'poisson', perSecond, seed } : { kind: 'constant', perSecond };

/** Requests with due times of their own instead of a rate. */
export interface TimedRequests {
  readonly schedule: Schedule;
  /** Requests per second on average. */
  readonly perSecond: number;
  /** The total number of requests; null for an endless schedule. */
  readonly requests: number | null;
}

type TimedSpec = Pick<
  LevelSpec,
  'requestIntervals' | 'arrivalTrace' | 'fixedSchedule' | 'traceSpeed' | 'ramp' | 'periodicBurst'
> &
  Pick<RequestSpec, 'inputData'>;

/**
 * Returns the schedule in the options; null for plain concurrencies and rates. Errors:
 * INPUT_INVALID, USAGE.
 */
export async function readTimedRequests(spec: TimedSpec): Promise<TimedRequests | null> {
  if (spec.requestIntervals !== undefined) {
    const gapsNs = await readIntervals(spec.requestIntervals);
    const roundNs = gapsNs.reduce((total, gapNs) => total + gapNs, 0);
    return endless({ kind: 'intervals', gapsNs }, (gapsNs.length * NS_PER_S) / roundNs);
  }
  if (spec.arrivalTrace !== undefined) {
    return replayed(await readArrivals(spec.arrivalTrace), spec.traceSpeed);
  }
  if (spec.fixedSchedule) return replayed(await readTimestamps(requireDataFile(spec)), spec.traceSpeed);
  if (spec.ramp !== undefined) {
    const { overS, ...rates } = spec.ramp;
    const durationNs = overS * NS_PER_S;
    return finite({ kind: 'ramp', ...rates, overNs: durationNs, limit: { durationNs } }, durationNs);
  }
  if (spec.periodicBurst !== undefined) {
    const { size, periodMs } = spec.periodicBurst;
    return endless({ kind: 'bursts', size, periodNs: periodMs * NS_PER_MS }, (size / periodMs) * MS_PER_S);
  }
  return null;
}

function endless(schedule: Schedule, perSecond: number): TimedRequests {
  createPacer(schedule);
  return { schedule, perSecond, requests: null };
}

/** Returns recorded arrivals, replayed `speed` times as fast. */
export function replayed(arrivalsNs: readonly number[], speed: number): TimedRequests {
  const spanNs = ((arrivalsNs.at(-1) ?? 0) - (arrivalsNs[0] ?? 0)) / speed;
  return finite({ kind: 'replay', arrivalsNs, speed }, spanNs);
}

/** Takes all requests of a finite schedule in advance, to count them. */
function finite(schedule: Schedule, spanNs: number): TimedRequests {
  const pacer = createPacer(schedule);
  let requests = 0;
  while (pacer(0, requests) !== 'stop') requests++;
  if (requests === 0) throw new TrituneError('USAGE', 'the schedule contains no requests', 'make it longer');
  return { schedule, perSecond: spanNs > 0 ? (requests * NS_PER_S) / spanNs : requests, requests };
}

function requireDataFile({ inputData = [] }: TimedSpec): string {
  const [file, ...others] = inputData;
  if (file !== undefined && file !== 'zero' && file !== 'random' && others.length === 0) return file;
  throw new TrituneError(
    'USAGE',
    '--fixed-schedule needs the timestamps of a data file',
    'give --input-data FILE with "timestamp": [ms] in each step',
  );
}
