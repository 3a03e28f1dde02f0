import { formatMs } from '../../base/format.ts';
import { NS_PER_MS, nsToMs } from '../../base/units.ts';
import type { Pause } from '../../loadgen/client/held-up.ts';
import type { HostCpu } from '../../loadgen/client/host-cpu.ts';
import type { TailEvidence } from '../windows/void-windows.ts';

/** A cause counts as the cause if it explains at least this share of the pauses. */
const MOST_OF_IT = 0.5;

/** Explains why the percentile may be the client's own: by how much, how long its threads were delayed, and the main cause. */
export function heldUpReason(tail: TailEvidence & { readonly percentile: number }, host: HostCpu = {}): string {
  const { shiftNs, percentileNs, percentile, heldUp } = tail;
  const heldNs = sumOf(heldUp.pauses, ({ lengthNs }) => lengthNs);
  const longestNs = Math.max(...heldUp.pauses.map(({ lengthNs }) => lengthNs));
  const times = `${formatMs(nsToMs(heldNs))} (${formatMs(nsToMs(longestNs))} at a time)`;
  const moved = `that may account for up to ${formatMs(nsToMs(shiftNs))} of the ${formatMs(nsToMs(percentileNs))} p${percentile}`;
  return `${causeOf(heldNs, tail, host)} for ${times}; ${moved}`;
}

function causeOf(heldNs: number, { heldUp }: TailEvidence, { stolenMs = 0, pressedMs = 0 }: HostCpu): string {
  const isMost = (ns: number): boolean => ns >= MOST_OF_IT * heldNs;
  if (isMost(sumOf(heldUp.pauses, ({ gcNs }) => gcNs))) return 'garbage collection paused the load generator';
  if (isMost(stolenMs * NS_PER_MS)) return 'the host of this virtual machine kept the load generator off the CPU';
  // The kernel's count for this very thread, or else the pressure over all waiting threads.
  return isMost(heldUp.runQueueNs ?? pressedMs * NS_PER_MS)
    ? 'other processes kept the load generator off the CPU'
    : 'its own work delayed the load generator';
}

const sumOf = (pauses: readonly Pause[], of: (pause: Pause) => number): number =>
  pauses.reduce((total, pause) => total + of(pause), 0);
