import { formatMs, formatRate } from '../../base/format.ts';
import { nsToMs } from '../../base/units.ts';
import type { ClientUse } from '../../loadgen/client/cost.ts';
import type { TailEvidence } from '../windows/void-windows.ts';
import { heldUpReason } from './held-up-reason.ts';

/** The client's own figures over the counted windows. */
export interface ClientEvidence {
  readonly use: ClientUse;
  /** Requests answered per second. */
  readonly requestRate: number;
  readonly latencyP50Ms: number;
  /** What held up the sending threads; null where they were not watched. */
  readonly tail: BudgetedTail | null;
  /** null for a closed loop. */
  readonly sends: SendEvidence | null;
}

interface BudgetedTail extends TailEvidence {
  readonly percentile: number;
  /** null where no budget hangs on the percentile. */
  readonly budgetMs: number | null;
}

interface SendEvidence {
  /** Median lateness of the sends in milliseconds, at most. */
  readonly latenessP50Ms: number;
  /** The percentile of the budget from the time due, and from the sending: what lies between is the client's. */
  readonly percentile: number;
  readonly fromDueMs: number;
  readonly fromSendMs: number;
  readonly budgetMs: number;
}

/** A thread that is busy for this share of a core's time cannot send more requests, and reads replies late. */
const CPU_BUSY = 0.9;
/** The utilisation from which on an event loop never waits for the server. With less CPU than `CPU_BUSY`, others have taken its core. */
const LOOP_BUSY = 0.95;
/** Below half a core the client could send twice as much, so its ceiling cannot be near. */
const CEILING_MATTERS = 0.5;
/** A rate this near to the client's ceiling may be the client's own: the ceiling was measured for some 0.3 s, to about a tenth. */
const NEAR_CEILING = 0.85;
/**
 * Half of all timers or sends this late, and by this share of the latency, bend the latencies that are measured. Node's
 * timers are late by up to a millisecond at any time.
 */
const LEAST_DELAY_MS = 2;
const LEAST_LATENESS_MS = 1;
const DELAY_SHARE = 0.2;

/**
 * Tells whether the verdict on the budget depends on what held the client up: it is missed, and might have been met without. Pauses never
 * shorten latencies, so a budget that is met in spite of them is met, and one that is missed by more than they can have caused is missed.
 */
function isUndecided(tail: BudgetedTail): boolean {
  const { isBent, budgetMs, percentileNs, shiftNs } = tail;
  if (!isBent || budgetMs === null) return false;
  return nsToMs(percentileNs) > budgetMs && nsToMs(percentileNs - shiftNs) <= budgetMs;
}

/** Tells whether the client's ceiling could change the verdict; it takes time to measure. */
export function needsCeiling({ use, sends }: ClientEvidence): boolean {
  return sends === null && use.cpuShare >= CEILING_MATTERS;
}

/** Why the figures are the client's own. */
export interface ClientLimit {
  readonly reason: string;
  /** True where others had the CPU that it lacked, which may pass; else it is as fast as it can be. */
  readonly isStarved: boolean;
}

/**
 * Returns why the figures are the load generator's own limit and not the server's; null when nothing says so. `ceiling`: requests per
 * second that this client reaches against a server that does nothing; null when unknown.
 *
 * In an open loop only lateness counts: the wait for the next send is in part spent turning the event loop, so its CPU time says nothing,
 * and a thread that sends in time also reads replies in time. Late sends make the figures worse than the server is, never better, so a few
 * of them matter only when the budget is missed because of them. The same holds in both loops for what held the sending threads up for
 * moments. Where that was not watched, the median delay of timers is used.
 */
export function clientLimit(evidence: ClientEvidence, ceiling: number | null): ClientLimit | null {
  const { use, requestRate, latencyP50Ms, sends, tail } = evidence;
  if (tail !== null && isUndecided(tail)) return starved(heldUpReason(tail, use.host));
  const bends = (ms: number, leastMs: number): boolean => ms > Math.max(leastMs, DELAY_SHARE * latencyP50Ms);
  if (sends !== null) {
    const { latenessP50Ms, percentile, fromDueMs, fromSendMs, budgetMs } = sends;
    if (bends(latenessP50Ms, LEAST_LATENESS_MS))
      return own(`half of its sends were ${formatMs(latenessP50Ms)} late or more`);
    const missedByUs = fromDueMs > budgetMs && fromSendMs <= budgetMs;
    return missedByUs
      ? own(`late sends took p${percentile} from ${formatMs(fromSendMs)} to ${formatMs(fromDueMs)}, over the budget`)
      : null;
  }
  if (use.cpuShare >= CPU_BUSY) return own(`its CPU was busy ${percent(Math.min(use.cpuShare, 1))} of the time`);
  if (use.loopShare >= LOOP_BUSY) {
    return starved(
      `its thread always had work but a CPU only ${percent(use.cpuShare)} of the time: the machine is overloaded`,
    );
  }
  if (ceiling !== null && needsCeiling(evidence) && requestRate >= NEAR_CEILING * ceiling) {
    return own(`its own limit is ${formatRate(ceiling)}, measured on a server that does nothing`);
  }
  const { medianDelayMs } = use;
  return tail === null && bends(medianDelayMs, LEAST_DELAY_MS)
    ? starved(`its event loop was ${formatMs(medianDelayMs)} behind half of the time`)
    : null;
}

const own = (reason: string): ClientLimit => ({ reason, isStarved: false });
const starved = (reason: string): ClientLimit => ({ reason, isStarved: true });

const percent = (share: number): string => `${Math.round(share * 100)} %`;
