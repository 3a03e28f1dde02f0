import { computePiece, computeShare, type Part } from '../paced-part.ts';
import type { SlotOutput } from './layout.ts';
import type { MemoryPlace } from './memory.ts';

/**
 * The region into which the server writes outputs: slots of equal size, one per request in flight.
 * Plain values that can be sent to another thread.
 */
export interface SharedOutputs {
  readonly region: string;
  readonly memory: MemoryPlace;
  readonly slotBytes: number;
  /** The usable slots, by their numbers in the region. */
  readonly firstSlot: number;
  readonly slots: number;
  readonly outputs: readonly SlotOutput[];
  /** The maximum number of cached encodings of one request in different slots. */
  readonly encodingsKept: number;
}

/** Returns the slots of one of several threads: no two threads share a slot. */
export function partOfOutputs(all: SharedOutputs, part: Part): SharedOutputs {
  const { low } = computePiece({ low: all.firstSlot, high: all.firstSlot + all.slots - 1 }, part);
  return { ...all, firstSlot: low, slots: computeShare(all.slots, part) };
}
