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
  const times = `it was held up for ${formatMs(nsToMs(heldNs))} in all, ${formatMs(nsToMs(longestNs))} at once`;
  const moved = `up to ${formatMs(nsToMs(shiftNs))} of the p${percentile} of ${formatMs(nsToMs(percentileNs))} may be its own delay`;
  return `${times}, ${causeOf(heldNs, tail, host)}; ${moved}`;
}

function causeOf(heldNs: number, { heldUp }: TailEvidence, { stolenMs = 0, pressedMs = 0 }: HostCpu): string {
  const isMost = (ns: number): boolean => ns >= MOST_OF_IT * heldNs;
  if (isMost(sumOf(heldUp.pauses, ({ gcNs }) => gcNs))) return 'by garbage collection';
  if (isMost(stolenMs * NS_PER_MS)) return 'while the host of this virtual machine had the CPU';
  // The kernel's count for this very thread, or else the pressure over all waiting threads.
  return isMost(heldUp.runQueueNs ?? pressedMs * NS_PER_MS) ? 'while other processes had the CPU' : 'by its own work';
}

const sumOf = (pauses: readonly Pause[], of: (pause: Pause) => number): number =>
  pauses.reduce((total, pause) => total + of(pause), 0);
