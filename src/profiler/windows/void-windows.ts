import { NS_PER_MS, NS_PER_S, nsToMs } from '#base/units.ts';
import { allHeldUp, type HeldUp } from '#loadgen/client/held-up.ts';
import type { Batch } from '#loadgen/recorder.ts';
import { allTokens } from '#loadgen/token-tally.ts';
import type { LevelOptions } from '../level-options.ts';
import type { LatencySums, WindowedFigures } from './figures.ts';
import { tailShiftNs } from './tail-shift.ts';

/**
 * If the client may have raised the percentile by at least this share, the percentile is not the
 * server's.
 */
const VOID_SHARE = 0.05;
/** Interval between checks of the sending thread, as a share of a latency, within these bounds. */
const WATCH_SHARE = 0.02;
const SHORTEST_WATCH_NS = NS_PER_MS;
const LONGEST_WATCH_NS = 5 * NS_PER_MS;

/**
 * The verdict is the same with and without the pauses if the percentile's interval ends this far
 * below the budget (as a share of it), or if the percentile less everything that the pauses can
 * have added is above the budget by the factor below. On two cores of a busy virtual machine, half
 * of all windows that were measured again belonged to such measurements (ten studies).
 */
const FAR_BELOW = 0.8;
const FAR_ABOVE = 1.25;

type LevelFigure = Pick<LevelOptions, 'level' | 'percentile'>;

/** Batches, and the latencies of all of them. */
interface Counted {
  readonly batches: readonly Batch[];
  readonly sums: LatencySums;
}

/** The effect of the sending threads' pauses over some batches. */
export interface TailEvidence {
  /** The largest amount by which they can have raised the percentile. */
  readonly shiftNs: number;
  readonly percentileNs: number;
  readonly isBent: boolean;
  readonly heldUp: HeldUp;
}

/**
 * Returns the interval at which to look for pauses, in nanoseconds. A pause matters relative to the
 * latency, and each check takes the thread's own time.
 */
export const watchPeriodNs = (meanLatencyNs: number): number =>
  Math.min(Math.max(WATCH_SHARE * meanLatencyNs, SHORTEST_WATCH_NS), LONGEST_WATCH_NS);

/**
 * Returns the largest amount by which the sending threads' pauses can have raised the percentile of
 * the gaps between pieces of streamed replies, in nanoseconds; null if pauses were not watched, or
 * without gaps. A pause lengthens at most one gap of each reply in progress.
 */
export function gapShiftNs(batches: readonly Batch[], { level, percentile }: LevelFigure): number | null {
  const ups = batches.flatMap(({ heldUp }) => heldUp ?? []);
  const gaps = allTokens(batches)?.itl;
  const lengthNs = batches.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0);
  if (ups.length === 0 || gaps === undefined || gaps.count === 0 || lengthNs <= 0) return null;
  const heldUp = allHeldUp(ups);
  const perNs = gaps.count / lengthNs / heldUp.threads;
  const underWay = level.mode === 'concurrency' ? Math.ceil(level.value / heldUp.threads) : Number.POSITIVE_INFINITY;
  return tailShiftNs(
    heldUp.pauses.map((pause) => pause.lengthNs),
    gaps,
    {
      percentile: percentile / 100,
      countHits: (pauseNs) => Math.min(perNs * pauseNs + 1, underWay),
      pausesPerRequest: 1,
    },
  );
}

/** Returns null if nothing was watched, or if no request succeeded. */
export function tailEvidence({ batches, sums }: Counted, { level, percentile }: LevelFigure): TailEvidence | null {
  const ups = batches.flatMap(({ heldUp }) => heldUp ?? []);
  if (ups.length === 0) return null;
  const { latencies, fromDue } = sums;
  const isPaced = fromDue.count > 0;
  const seen = isPaced ? fromDue : latencies;
  const lengthNs = batches.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0);
  if (seen.count === 0 || lengthNs <= 0) return null;
  const heldUp = allHeldUp(ups);
  const perNs = seen.count / lengthNs / heldUp.threads;
  const inFlight = level.mode === 'concurrency' ? Math.ceil(level.value / heldUp.threads) : Number.POSITIVE_INFINITY;
  // If requests have a due time, a pause delays both the requests due in it and those whose replies
  // arrived in it.
  const ways = isPaced ? 2 : 1;
  const shiftNs = tailShiftNs(
    heldUp.pauses.map((pause) => pause.lengthNs),
    seen,
    {
      percentile: percentile / 100,
      countHits: (pauseNs) => ways * Math.min(perNs * pauseNs + 1, inFlight),
      pausesPerRequest: ways,
    },
  );
  const percentileNs = seen.quantileNs(percentile / 100);
  return { shiftNs, percentileNs, isBent: shiftNs > VOID_SHARE * percentileNs, heldUp };
}

/** Neither a garbage collection nor a busy machine holds up a thread for so long. */
const SUSPENDED_NS = NS_PER_S;

/**
 * Returns the longest time, in nanoseconds, for which the process stood still during these batches,
 * such as by SIGSTOP or the sleep of a laptop; 0 if it did not. Nothing that was measured then is
 * the server's: requests waited for the client.
 */
export function suspendedNs({ batches }: { readonly batches: readonly Batch[] }): number {
  const pauses = batches.flatMap(({ heldUp }) => heldUp?.pauses ?? []);
  const longestNs = pauses.reduce((most, { lengthNs }) => Math.max(most, lengthNs), 0);
  return longestNs >= SUSPENDED_NS ? longestNs : 0;
}

/**
 * True if the sending threads' pauses could have decided the percentile of the window, or of all
 * windows.
 */
export const isVoid = (window: Counted, question: LevelFigure): boolean =>
  tailEvidence(window, question)?.isBent ?? false;

/**
 * True if the pauses could have decided the percentile of all windows, and it is close enough to
 * the budget to matter.
 */
export function hangsOnPauses(
  figures: WindowedFigures & Counted,
  options: Pick<LevelOptions, 'budgetMs'> & LevelFigure,
): boolean {
  const evidence = tailEvidence(figures, options);
  if (!evidence?.isBent) return false;
  const { budgetMs } = options;
  if (budgetMs === undefined) return true;
  const { value, high } = figures.percentileMs;
  const leastMs = value - nsToMs(evidence.shiftNs);
  return high > FAR_BELOW * budgetMs && leastMs < FAR_ABOVE * budgetMs;
}
