import { realClock } from '#base/clock.ts';

/** Returns `process.hrtime`, which all threads share, at the zero of this thread's `realClock`. */
export function clockZeroNs(): number {
  // A delay of the thread between the two readings separates them: the smallest of several is close
  // to the truth.
  const zeros = Array.from({ length: 9 }, () => -realClock.nowNs() + Number(process.hrtime.bigint()));
  return Math.min(...zeros);
}
