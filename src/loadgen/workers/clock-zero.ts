import { realClock } from '../../base/clock.ts';

/** What `process.hrtime`, which is one for all threads, says when this thread's `realClock` is at 0. */
export function clockZeroNs(): number {
  // The two readings are apart by what the thread was held up between them: the least of some is near the truth.
  const zeros = Array.from({ length: 9 }, () => -realClock.nowNs() + Number(process.hrtime.bigint()));
  return Math.min(...zeros);
}
