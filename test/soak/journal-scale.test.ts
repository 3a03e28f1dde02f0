import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal, resumeJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { Trial } from '#study/types.ts';
import { isNightly } from '../support/fuzz.ts';
import { longGoal, longStudy, longView } from '../support/long-journal.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { writeJournal } from '../support/write-journal.ts';
import { play } from '../tuner/world.ts';

/**
 * Absolute times are for bench/journal.ts; here it is that five times the trials cost about five
 * times as much.
 */
const FEW = isNightly ? 1_000 : 300;
const MANY = 5 * FEW;
const MAX_TIMES = 8;

/**
 * Processor time of the least of some rounds: on a busy machine the clock on the wall says little.
 */
async function leastMs(rounds: number, work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1e3);
  }
  return least;
}

async function resumedRecords(path: string): Promise<readonly StudyRecord[]> {
  const { journal, records: earlier } = await resumeJournal(path);
  try {
    const sampler = makeSampler('grid', longView, {
      seed: 1,
      goal: longGoal,
      levels: { mode: 'concurrency', low: 1, high: 64 },
    });
    const plan = { earlier, maxTrials: Number.POSITIVE_INFINITY };
    const { events } = await play({ plan, goal: longGoal, parts: { build: longView.build, sampler }, abortAt: 4 });
    return events.flatMap((event) => ('at' in event ? [event] : []));
  } finally {
    await journal.close();
  }
}

describe(`a journal of ${MANY} trials`, () => {
  it('opens, and resumes at the next trial, at a cost that grows with its length and no faster', async () => {
    const directory = await freshDirectory();
    const paths = [FEW, MANY].map((trials) => join(directory, `${trials}.jsonl`)) as [string, string];
    await writeJournal(paths[0], longStudy(FEW));
    await writeJournal(paths[1], longStudy(MANY));
    let trials: readonly Trial[] = [];
    const open = (path: string) => async () => {
      ({ trials } = foldStudy(await readJournal(path)));
    };
    const opening = [await leastMs(3, open(paths[0])), await leastMs(2, open(paths[1]))] as const;
    expect(opening[1] / opening[0]).toBeLessThan(MAX_TIMES);
    expect(trials).toHaveLength(MANY + 1);

    let next: readonly StudyRecord[] = [];
    const resume = (path: string) => async () => {
      next = await resumedRecords(path);
    };
    const resuming = [await leastMs(2, resume(paths[0])), await leastMs(1, resume(paths[1]))] as const;
    expect(resuming[1] / resuming[0]).toBeLessThan(MAX_TIMES);
    expect(next.find(({ type }) => type === 'trial-started')).toMatchObject({ trial: MANY + 1 });
  }, 120_000);
});
