import { formatFigure, formatRate } from '#base/format.ts';
import type { HeldUp } from '#loadgen/client/held-up.ts';
import { computeBusyShare, type HostCpu } from '#loadgen/client/host-cpu.ts';
import type { UnheldRate } from '../client-figures.ts';
import { NEAR_CEILING } from './client-verdict.ts';
import { describeDelay } from './held-up-reason.ts';

/** What is known of the sends of a schedule. */
export interface SendingEvidence {
  /**
   * Requests that were sent, those of them that were late, and those that were not sent because too
   * many were in flight.
   */
  readonly sent: number;
  readonly late: number;
  readonly dropped: number;
  readonly maxInFlight: number;
  /** Requests answered per second. */
  readonly requestRate: number;
  /** Delays of the sending threads; null if they were not watched. */
  readonly heldUp: HeldUp | null;
  readonly host: HostCpu;
}

/**
 * A rate is not held if more than this share of the due requests was not sent, or more than this
 * share of the sends was late.
 */
const DROPPED_SHARE = 0.01;
const LATE_SHARE = 0.1;
/** CPUs that were idle for less than a twentieth of the time had no more to give. */
const MACHINE_BUSY = 0.95;

const computeDroppedShare = ({ sent, dropped }: SendingEvidence): number => dropped / Math.max(sent + dropped, 1);
const computeLateShare = ({ sent, late }: SendingEvidence): number => late / Math.max(sent, 1);

/**
 * True if so many due requests were not sent that the client's ceiling matters; measuring it takes
 * time.
 */
export const isDropping = (evidence: SendingEvidence): boolean => computeDroppedShare(evidence) > DROPPED_SHARE;

/**
 * Returns who kept the rate from being held; null if it was held. Requests are dropped because
 * replies take long: that is the server, unless the client itself sends little more than this to a
 * server that does nothing (`ceiling`, null if unknown). Requests are late because the sending
 * thread was delayed. If the machine's CPUs had nothing left, neither could do more.
 */
export function unheldRate(evidence: SendingEvidence, ceiling: number | null): UnheldRate | null {
  const { maxInFlight, requestRate, heldUp, host } = evidence;
  const busyShare = computeBusyShare(host) ?? 0;
  const isFull = busyShare >= MACHINE_BUSY;
  const full = `the CPUs of this machine were busy ${percent(busyShare)} of the time`;
  if (isDropping(evidence)) {
    if (ceiling !== null && requestRate >= NEAR_CEILING * ceiling) {
      const reason = `it can send ${formatRate(ceiling)}, measured on a server that does nothing`;
      return { by: 'client', reason };
    }
    const dropped = `${percent(computeDroppedShare(evidence))} of the requests were not sent`;
    const inFlight = `${formatFigure(maxInFlight)} were in flight, the most, and ${formatRate(requestRate)} were answered`;
    return isFull
      ? { by: 'machine', reason: `${dropped}: ${inFlight}; ${full}` }
      : { by: 'server', reason: `${dropped}: ${inFlight}` };
  }
  if (computeLateShare(evidence) <= LATE_SHARE) return null;
  const late = `${percent(computeLateShare(evidence))} of the sends were late`;
  if (isFull) return { by: 'machine', reason: `${late}: ${full}` };
  const delay = describeDelay(heldUp, host);
  return { by: delay.isOthers ? 'machine' : 'client', reason: `${late}: ${delay.words}` };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
