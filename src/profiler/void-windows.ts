import { NS_PER_MS, nsToMs } from '../base/units.ts';
import { allHeldUp, type HeldUp } from '../loadgen/held-up.ts';
import type { Batch } from '../loadgen/recorder.ts';
import type { LevelOptions } from './level-options.ts';
import { tailShiftNs } from './tail-shift.ts';
import type { LatencySums, WindowedFigures } from './window-figures.ts';

/** Where what held the client up could have moved the percentile by more than this share of it, the percentile is not the server's. */
const VOID_SHARE = 0.05;
/** The sending thread is looked at once in so much of a latency, within these bounds. */
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

/** What the pauses of the sending threads come to, over some batches. */
export interface TailEvidence {
  /** The most by which they can have moved the percentile up. */
  readonly shiftNs: number;
  readonly percentileNs: number;
  readonly isBent: boolean;
  readonly heldUp: HeldUp;
}

/** How often to look for pauses: a pause matters by its share of the latency, and to look takes time of the thread itself. */
export const watchPeriodNs = (meanLatencyNs: number): number =>
  Math.min(Math.max(WATCH_SHARE * meanLatencyNs, SHORTEST_WATCH_NS), LONGEST_WATCH_NS);

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

/** Whether what held the sending threads up in the window, or in all of them, could have made its percentile theirs. */
export const isVoid = (window: Counted, asked: Asked): boolean => tailEvidence(window, asked)?.isBent ?? false;

/** Whether they could have made the percentile of all windows theirs, near enough to the budget that something hangs on it. */
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
