/** A time in which the sending thread could neither send nor read a reply. */
export interface Pause {
  readonly startNs: number;
  readonly lengthNs: number;
  /** The part of it that garbage collection took. */
  readonly gcNs: number;
}

/** What held up the sending threads during a batch. */
export interface HeldUp {
  readonly pauses: readonly Pause[];
  /** Time for which they waited for a CPU with work to do; null where the system does not report it. */
  readonly runQueueNs: number | null;
  /** Threads that the requests were divided over: a pause holds up the requests of one of them. */
  readonly threads: number;
}

/** Adds up several batches, or several threads that sent together; `threads` is then their number. */
export function allHeldUp(parts: readonly HeldUp[], threads = parts[0]?.threads ?? 1): HeldUp {
  const waits = parts.map(({ runQueueNs }) => runQueueNs);
  return {
    pauses: parts.flatMap(({ pauses }) => pauses),
    runQueueNs: waits.includes(null) ? null : waits.reduce<number>((sum, ns) => sum + (ns ?? 0), 0),
    threads,
  };
}
