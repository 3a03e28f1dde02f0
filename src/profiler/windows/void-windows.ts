import { NS_PER_MS, nsToMs } from '../../base/units.ts';
import { allHeldUp, type HeldUp } from '../../loadgen/client/held-up.ts';
import type { Batch } from '../../loadgen/recorder.ts';
import { allTokens } from '../../loadgen/token-tally.ts';
import type { LevelOptions } from '../level-options.ts';
import type { LatencySums, WindowedFigures } from './figures.ts';
import { tailShiftNs } from './tail-shift.ts';

/** The share of the percentile by which the client may have raised it, from which on the percentile is not the server's. */
const VOID_SHARE = 0.05;
/** The sending thread is checked once per this share of a latency, within these bounds. */
const WATCH_SHARE = 0.02;
const SHORTEST_WATCH_NS = NS_PER_MS;
const LONGEST_WATCH_NS = 5 * NS_PER_MS;

/**
 * A percentile whose interval ends this far below the budget, as a share of it, or that is this many times above it when all that the
 * pauses can have added is taken off, decides the same with and without them. On two cores of a busy virtual machine half of all
 * windows that were measured again were of such measurements (ten studies).
 */
const FAR_BELOW = 0.8;
const FAR_ABOVE = 1.25;

type Asked = Pick<LevelOptions, 'level' | 'percentile'>;

/** Batches, and the latencies of all of them. */
interface Counted {
  readonly batches: readonly Batch[];
  readonly sums: LatencySums;
}

/** The effect of the sending threads' pauses over some batches. */
export interface TailEvidence {
  /** The most by which they can have moved the percentile up. */
  readonly shiftNs: number;
  readonly percentileNs: number;
  readonly isBent: boolean;
  readonly heldUp: HeldUp;
}

/**
 * Returns the period in which to look for pauses, in nanoseconds: a pause matters by its share of the latency, and looking takes the
 * thread's own time.
 */
export const watchPeriodNs = (meanLatencyNs: number): number =>
  Math.min(Math.max(WATCH_SHARE * meanLatencyNs, SHORTEST_WATCH_NS), LONGEST_WATCH_NS);

/**
 * Returns the most by which the sending threads' pauses can have moved the percentile of the gaps between pieces of streamed replies, in
 * nanoseconds; null if it was not watched, or there are none. A pause lengthens at most one gap of each reply that is under way.
 */
export function gapShiftNs(batches: readonly Batch[], { level, percentile }: Asked): number | null {
  const told = batches.flatMap(({ heldUp }) => heldUp ?? []);
  const gaps = allTokens(batches)?.itl;
  const lengthNs = batches.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0);
  if (told.length === 0 || gaps === undefined || gaps.count === 0 || lengthNs <= 0) return null;
  const heldUp = allHeldUp(told);
  const perNs = gaps.count / lengthNs / heldUp.threads;
  const underWay = level.mode === 'concurrency' ? Math.ceil(level.value / heldUp.threads) : Number.POSITIVE_INFINITY;
  return tailShiftNs(
    heldUp.pauses.map((pause) => pause.lengthNs),
    gaps,
    {
      percentile: percentile / 100,
      hitsOf: (pauseNs) => Math.min(perNs * pauseNs + 1, underWay),
      pausesPerRequest: 1,
    },
  );
}

/** Null where nobody watched, or nothing succeeded. */
export function tailEvidence({ batches, sums }: Counted, { level, percentile }: Asked): TailEvidence | null {
  const told = batches.flatMap(({ heldUp }) => heldUp ?? []);
  if (told.length === 0) return null;
  const { latencies, fromDue } = sums;
  const isPaced = fromDue.count > 0;
  const seen = isPaced ? fromDue : latencies;
  const lengthNs = batches.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0);
  if (seen.count === 0 || lengthNs <= 0) return null;
  const heldUp = allHeldUp(told);
  const perNs = seen.count / lengthNs / heldUp.threads;
  const inFlight = level.mode === 'concurrency' ? Math.ceil(level.value / heldUp.threads) : Number.POSITIVE_INFINITY;
  // Where requests are due at a time, those due in a pause are late as well as those whose replies came in it.
  const ways = isPaced ? 2 : 1;
  const shiftNs = tailShiftNs(
    heldUp.pauses.map((pause) => pause.lengthNs),
    seen,
    {
      percentile: percentile / 100,
      hitsOf: (pauseNs) => ways * Math.min(perNs * pauseNs + 1, inFlight),
      pausesPerRequest: ways,
    },
  );
  const percentileNs = seen.quantileNs(percentile / 100);
  return { shiftNs, percentileNs, isBent: shiftNs > VOID_SHARE * percentileNs, heldUp };
}

/** Tells whether the sending threads' pauses could have decided the percentile of the window, or of all. */
export const isVoid = (window: Counted, asked: Asked): boolean => tailEvidence(window, asked)?.isBent ?? false;

/** Tells whether they could have decided the percentile of all windows, near enough to the budget to matter. */
export function hangsOnPauses(
  figures: WindowedFigures & Counted,
  options: Pick<LevelOptions, 'budgetMs'> & Asked,
): boolean {
  const evidence = tailEvidence(figures, options);
  if (!evidence?.isBent) return false;
  const { budgetMs } = options;
  if (budgetMs === undefined) return true;
  const { value, high } = figures.percentileMs;
  const leastMs = value - nsToMs(evidence.shiftNs);
  return high > FAR_BELOW * budgetMs && leastMs < FAR_ABOVE * budgetMs;
}
