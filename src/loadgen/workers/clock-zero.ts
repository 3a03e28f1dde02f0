import { realClock } from '../../base/clock.ts';

/** `process.hrtime`, which all threads share, at the zero of this thread's `realClock`. */
export function clockZeroNs(): number {
  // The two readings are apart by what the thread was held up between them: the least of some is near the truth.
  const zeros = Array.from({ length: 9 }, () => -realClock.nowNs() + Number(process.hrtime.bigint()));
  return Math.min(...zeros);
}
