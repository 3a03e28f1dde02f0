import { workerData } from 'node:worker_threads';
import { MS_PER_S, NS_PER_MS } from './units.ts';

/**
 * The thread behind `alarm.ts`: sleeps in Atomics.wait, whose timeout the kernel keeps to some tens
 * of microseconds, and wakes the requesting thread. A new request replaces the current one.
 */
const shared = workerData as SharedArrayBuffer;
const [wishes, wakes] = [new Int32Array(shared, 0, 1), new Int32Array(shared, 4, 1)];
const due = new Float64Array(shared, 8, 1);

/** hrtime counts from the same moment in all threads. */
const leftMs = (): number => ((due[0] as number) - Number(process.hrtime.bigint())) / NS_PER_MS;

for (let seen = 0; ; ) {
  Atomics.wait(wishes, 0, seen);
  seen = Atomics.load(wishes, 0);
  let left = leftMs();
  while (left > 0 && Atomics.load(wishes, 0) === seen) {
    Atomics.wait(wishes, 0, seen, Math.min(left, MS_PER_S));
    left = leftMs();
  }
  if (Atomics.load(wishes, 0) !== seen) continue;
  Atomics.store(wakes, 0, seen);
  Atomics.notify(wakes, 0);
}
