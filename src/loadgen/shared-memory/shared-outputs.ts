import { type Part, pieceOf, shareOf } from '../pacing/part.ts';
import type { SlotOutput } from './layout.ts';
import type { MemoryPlace } from './memory.ts';

/**
 * The region into which the server writes outputs: slots of one size, one for each request in flight. Plain values, so that
 * it can be given to another thread.
 */
export interface SharedOutputs {
  readonly region: string;
  readonly memory: MemoryPlace;
  readonly slotBytes: number;
  /** The slots that are to be used, by their numbers in the region. */
  readonly firstSlot: number;
  readonly slots: number;
  readonly outputs: readonly SlotOutput[];
  /** Encodings of one request in different slots that are kept, at most. */
  readonly encodingsKept: number;
}

/** Returns the slots of one of several threads: no two threads have one in common. */
export function partOfOutputs(all: SharedOutputs, part: Part): SharedOutputs {
  const { low } = pieceOf({ low: all.firstSlot, high: all.firstSlot + all.slots - 1 }, part);
  return { ...all, firstSlot: low, slots: shareOf(all.slots, part) };
}
