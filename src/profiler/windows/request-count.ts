import type { Batch } from '#loadgen/recorder.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { LevelOptions, RequestCountRule } from '../level-options.ts';
import type { MeasuredTraffic } from '../traffic.ts';
import { WindowLog } from './log.ts';
import type { OnWindow, WindowsOutcome } from './outcome.ts';
import { suspendedNs, watchPeriodNs } from './void-windows.ts';

const MAX_BATCHES = 20;
/** Fewer batches say little about how much they differ. */
const MIN_BATCHES = 5;

/**
 * Measures one window of all the requests that this traffic sends, from the first request's sending
 * to the last one's reply, and starts the traffic. The transport's timeout bounds it.
 */
export async function countRequests(
  traffic: MeasuredTraffic,
  options: LevelOptions,
  { requests }: RequestCountRule,
  onWindow: OnWindow,
): Promise<WindowsOutcome> {
  const batches = countBatches(requests, options.level);
  const watchEveryNs = watchPeriodNs(0);
  const rule = { lengthNs: 0, minRequests: requests / batches, watchEveryNs };
  const isWhole = (ended: readonly Batch[]): boolean => ended.length === batches;
  const log = new WindowLog(traffic, options, { rule, isWhole, startNs: options.clock.nowNs() });
  traffic.start();
  const allDue = (): boolean => traffic.dueByNow !== null && traffic.dueByNow >= requests && traffic.sent < requests;
  await traffic.waitUntil(() => log.windows > 0 || allDue(), Number.POSITIVE_INFINITY);
  if (log.windows === 0) await endShort(traffic, log);
  traffic.stopRecording();
  const figures = log.figures();
  const windowFigures = log.latest(options.percentile);
  onWindow({
    phase: 'window',
    window: 1,
    throughput: windowFigures.throughput,
    latencyMs: figures.percentileMs.value,
    latest: windowFigures,
  });
  return {
    ...figures,
    // The requests are counted, so that none can be sent again.
    stable: figures.succeeded > 0 && !traffic.tooManyErrors && suspendedNs(figures) === 0,
    budgetVerdict: null,
    coldWindows: 0,
    voidWindows: 0,
  };
}

/** Ends the window when some due requests could not be sent, and no more will be. */
async function endShort(traffic: MeasuredTraffic, log: WindowLog): Promise<void> {
  await traffic.drain();
  await traffic.waitUntil(() => log.windows > 0, 0);
  log.closeWindow();
}

/**
 * Returns the number of batches that divides the requests evenly, so that the last batch ends with
 * the last reply. If there are enough requests, each batch holds as many as are in flight: requests
 * that start together end together, and a batch of only some of them would have no length.
 */
function countBatches(requests: number, { mode, value }: LoadLevel): number {
  const rounds = mode === 'concurrency' ? Math.floor(requests / value) : MAX_BATCHES;
  const most = Math.min(MAX_BATCHES, Math.max(MIN_BATCHES, rounds));
  for (let batches = most; batches > 1; batches--) if (requests % batches === 0) return batches;
  return 1;
}
