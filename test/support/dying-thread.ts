import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into the threads of a process by `--import`, with the way they die in the environment:
 * what no test could make our own code do. TRITUNE_TEST_DEATH_IN=main is for the main thread in
 * their place; with TRITUNE_TEST_DEATH_FILE they wait until there is such a file.
 */
const AFTER_MS = 300;
const LOOK_EVERY_MS = 20;

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

const { TRITUNE_TEST_DEATH = '', TRITUNE_TEST_DEATH_IN = 'threads', TRITUNE_TEST_DEATH_FILE: file } = process.env;
const death = deaths[TRITUNE_TEST_DEATH];

function dieWhenDue(): void {
  if (file === undefined || existsSync(file)) death?.();
  else setTimeout(dieWhenDue, LOOK_EVERY_MS);
}

if (death && isMainThread === (TRITUNE_TEST_DEATH_IN === 'main')) setTimeout(dieWhenDue, AFTER_MS);
