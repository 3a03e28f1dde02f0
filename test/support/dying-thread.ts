import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into a thread by `--import`, with the way it dies in the environment: what no test could make our own code do.
 */
const AFTER_MS = 300;

const deaths: Readonly<Record<string, () => void>> = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error('a defect');
  },
  'run out of memory': () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array<number>(1e5).fill(kept.length));
  },
};

const death = deaths[process.env.TRITUNE_TEST_DEATH ?? ''];
if (!isMainThread && death) setTimeout(death, AFTER_MS);
