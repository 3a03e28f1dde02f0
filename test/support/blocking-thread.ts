import { isMainThread } from 'node:worker_threads';

/** Loaded into each thread of a test by `--import`: holds it up for 30 ms, ten times a second. */
const EVERY_MS = 100;
const HELD_MS = 30;

if (!isMainThread) {
  setInterval(() => {
    const until = performance.now() + HELD_MS;
    while (performance.now() < until);
  }, EVERY_MS);
}
