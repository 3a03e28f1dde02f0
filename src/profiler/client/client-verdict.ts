import { formatMs, formatRate } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import type { ClientUse } from '#loadgen/client/cost.ts';
import type { TailEvidence } from '../windows/void-windows.ts';
import { heldUpReason } from './held-up-reason.ts';

/** The client's own figures over the counted windows. */
export interface ClientEvidence {
  readonly use: ClientUse;
  /** Requests answered per second. */
  readonly requestRate: number;
  readonly latencyP50Ms: number;
  /** Delays of the sending threads; null if they were not watched. */
  readonly tail: BudgetedTail | null;
  /** null for a closed loop. */
  readonly sends: SendEvidence | null;
}

interface BudgetedTail extends TailEvidence {
  readonly percentile: number;
  /** null if the percentile has no budget. */
  readonly budgetMs: number | null;
}

interface SendEvidence {
  /** Upper bound of the median lateness of sends, in milliseconds. */
  readonly latenessP50Ms: number;
  /**
   * The budgeted percentile from the due time and from the sending; the client caused the
   * difference.
   */
  readonly percentile: number;
  readonly fromDueMs: number;
  readonly fromSendMs: number;
  readonly budgetMs: number;
}

/** A thread that uses this share of a core cannot send more requests, and reads replies late. */
const CPU_BUSY = 0.9;
/**
 * The utilisation above which an event loop never waits for the server. If it uses less CPU than
 * `CPU_BUSY`, other processes have taken its core.
 */
const LOOP_BUSY = 0.95;
/** Below half a core the client could send twice as much, so its ceiling cannot be near. */
const CEILING_MATTERS = 0.5;
/**
 * A rate this near to the client's ceiling may be the client's own limit: the ceiling was measured
 * for about 0.3 s, to about a tenth.
 */
export const NEAR_CEILING = 0.85;
/**
 * If half of all timers or sends are this late, and by this share of the latency, the measured
 * latencies are distorted. Node's timers are always up to a millisecond late.
 */
const MIN_DELAY_MS = 2;
const MIN_LATENESS_MS = 1;
const DELAY_SHARE = 0.2;

/**
 * True if the verdict on the budget depends on the client's delays: the budget is missed, but might
 * have been met without them. Pauses never shorten latencies, so a budget that is met despite them
 * is met. A budget that is missed by more than they can have caused is missed.
 */
function isUndecided(tail: BudgetedTail): boolean {
  const { isBent, budgetMs, percentileNs, shiftNs } = tail;
  if (!isBent || budgetMs === null) return false;
  return nsToMs(percentileNs) > budgetMs && nsToMs(percentileNs - shiftNs) <= budgetMs;
}

/** True if the client's ceiling could change the verdict; measuring it takes time. */
export function needsCeiling({ use, sends }: ClientEvidence): boolean {
  return sends === null && use.cpuShare >= CEILING_MATTERS;
}

/** The reason why the figures are the client's own. */
export interface ClientLimit {
  readonly reason: string;
  /**
   * True if other processes had the CPU that the client lacked, which may be temporary; otherwise
   * the client is as fast as it can be.
   */
  readonly isStarved: boolean;
}

/**
 * Returns why the figures show the load generator's own limit and not the server's; null if nothing
 * suggests that. `ceiling`: requests per second that this client reaches against a server that does
 * nothing; null if unknown.
 *
 * In an open loop only lateness counts. Part of the wait for the next send is spent turning the
 * event loop, so its CPU time says nothing, and a thread that sends on time also reads replies on
 * time. Late sends make the figures worse than the server is, never better, so a few of them matter
 * only if they caused the budget to be missed. In both loops the same holds for short delays of the
 * sending threads. If those were not watched, the median delay of timers is used.
 */
export function clientLimit(evidence: ClientEvidence, ceiling: number | null): ClientLimit | null {
  const { use, requestRate, latencyP50Ms, sends, tail } = evidence;
  if (tail !== null && isUndecided(tail)) return starved(heldUpReason(tail, use.host));
  const bends = (ms: number, leastMs: number): boolean => ms > Math.max(leastMs, DELAY_SHARE * latencyP50Ms);
  if (sends !== null) {
    const { latenessP50Ms, percentile, fromDueMs, fromSendMs, budgetMs } = sends;
    if (bends(latenessP50Ms, MIN_LATENESS_MS))
      return findLimit(`half of its sends were ${formatMs(latenessP50Ms)} late or more`);
    const missedByUs = fromDueMs > budgetMs && fromSendMs <= budgetMs;
    return missedByUs
      ? findLimit(
          `late sends took p${percentile} from ${formatMs(fromSendMs)} to ${formatMs(fromDueMs)}, over the budget`,
        )
      : null;
  }
  if (use.cpuShare >= CPU_BUSY) return findLimit(`its CPU was busy ${percent(Math.min(use.cpuShare, 1))} of the time`);
  if (use.loopShare >= LOOP_BUSY) {
    return starved(
      `its thread always had work but a CPU only ${percent(use.cpuShare)} of the time: the machine is overloaded`,
    );
  }
  if (ceiling !== null && needsCeiling(evidence) && requestRate >= NEAR_CEILING * ceiling) {
    return findLimit(`its own limit is ${formatRate(ceiling)}, measured on a server that does nothing`);
  }
  const { medianDelayMs } = use;
  return tail === null && bends(medianDelayMs, MIN_DELAY_MS)
    ? starved(`its event loop was ${formatMs(medianDelayMs)} behind half of the time`)
    : null;
}

const findLimit = (reason: string): ClientLimit => ({ reason, isStarved: false });
const starved = (reason: string): ClientLimit => ({ reason, isStarved: true });

const percent = (share: number): string => `${Math.round(share * 100)} %`;
