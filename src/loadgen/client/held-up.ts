/** A period in which the sending thread could neither send nor read a reply. */
export interface Pause {
  readonly startNs: number;
  readonly lengthNs: number;
  /** The part of it that was garbage collection. */
  readonly gcNs: number;
}

/** Delays of the sending threads during a batch. */
export interface HeldUp {
  readonly pauses: readonly Pause[];
  /** Time for which runnable threads waited for a CPU; null if the system does not report it. */
  readonly runQueueNs: number | null;
  /** Threads that share the requests: a pause delays the requests of one of them. */
  readonly threads: number;
}

/**
 * Adds up several batches, or several threads that sent together; `threads` is then their number.
 */
export function allHeldUp(parts: readonly HeldUp[], threads = parts[0]?.threads ?? 1): HeldUp {
  const waits = parts.map(({ runQueueNs }) => runQueueNs);
  return {
    pauses: parts.flatMap(({ pauses }) => pauses),
    runQueueNs: waits.includes(null) ? null : waits.reduce<number>((sum, ns) => sum + (ns ?? 0), 0),
    threads,
  };
}
