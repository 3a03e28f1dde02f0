import { formatMs } from '#base/format.ts';
import { NS_PER_MS, nsToMs } from '#base/units.ts';
import type { HeldUp, Pause } from '#loadgen/client/held-up.ts';
import type { HostCpu } from '#loadgen/client/host-cpu.ts';
import type { TailEvidence } from '../windows/void-windows.ts';

/** A cause counts as the cause if it explains at least this share of the pauses. */
const MAX_OF_IT = 0.5;

/**
 * Explains why the percentile may be the client's own: by how much, how long its threads were
 * delayed, and the main cause.
 */
export function heldUpReason(tail: TailEvidence & { readonly percentile: number }, host: HostCpu = {}): string {
  const { shiftNs, percentileNs, percentile, heldUp } = tail;
  const heldNs = computeSum(heldUp.pauses, ({ lengthNs }) => lengthNs);
  const longestNs = Math.max(...heldUp.pauses.map(({ lengthNs }) => lengthNs));
  const times = `${formatMs(nsToMs(heldNs))} (${formatMs(nsToMs(longestNs))} at a time)`;
  const moved = `that may account for up to ${formatMs(nsToMs(shiftNs))} of the ${formatMs(nsToMs(percentileNs))} p${percentile}`;
  return `${describeDelay(heldUp, host).words} for ${times}; ${moved}`;
}

/**
 * Why the sending threads were delayed, and whether something else on the machine was the cause.
 */
export interface Delay {
  readonly words: string;
  readonly isOthers: boolean;
}

const COLLECTION: Delay = { words: 'garbage collection paused the load generator', isOthers: false };
const STOLEN: Delay = { words: 'the host of this virtual machine kept the load generator off the CPU', isOthers: true };
const CROWDED: Delay = { words: 'other processes kept the load generator off the CPU', isOthers: true };
const BUSY: Delay = { words: 'its own work delayed the load generator', isOthers: false };

/** Returns the main cause of the pauses; the client's own work if there were none. */
export function describeDelay(heldUp: HeldUp | null, { stolenMs = 0, pressedMs = 0 }: HostCpu): Delay {
  const { pauses = [], runQueueNs = null } = heldUp ?? {};
  const heldNs = computeSum(pauses, ({ lengthNs }) => lengthNs);
  const isMost = (ns: number): boolean => ns > 0 && ns >= MAX_OF_IT * heldNs;
  if (isMost(computeSum(pauses, ({ gcNs }) => gcNs))) return COLLECTION;
  if (isMost(stolenMs * NS_PER_MS)) return STOLEN;
  // The kernel's count for this very thread, or else the pressure over all waiting threads.
  return isMost(runQueueNs ?? pressedMs * NS_PER_MS) ? CROWDED : BUSY;
}

const computeSum = (pauses: readonly Pause[], of: (pause: Pause) => number): number =>
  pauses.reduce((total, pause) => total + of(pause), 0);
