import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configDocuments } from '#adapter/triton/documents.ts';
import { writeRun } from '#report/write-run.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal, resumeJournal } from '#study/records/journal.ts';
import { makeSampler, samplerNames } from '#study/search/samplers/registry.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import { frame } from '#tui/frame.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { ViewFold } from '#tui/state.ts';
import { originalConfig } from '../test/study/builders.ts';
import { longGoal, longSpace, longStudy } from '../test/support/long-journal.ts';
import { writeJournal } from '../test/support/write-journal.ts';
import { play } from '../test/tuner/world.ts';

/**
 * What a journal of many trials costs: to open, to resume until the next candidate is chosen, by
 * sampler, to show and to report: node bench/journal.ts, or with TRITUNE_BENCH_TRIALS=1000,5000 and
 * TRITUNE_BENCH_SAMPLERS=grid,random.
 */

const TRIALS = (process.env.TRITUNE_BENCH_TRIALS ?? '1000,5000').split(',').map(Number);
const SAMPLERS = (process.env.TRITUNE_BENCH_SAMPLERS ?? 'grid,random,hill-climb,queueing').split(',');
const ROUNDS = 3;
const SIZE = { columns: 200, rows: 60 };
const abilities = { phase: 'live', canExport: true } as const;
const levels = { mode: 'concurrency', low: 1, high: 64 } as const;

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Returns the minimum over some rounds, because other work on the machine only adds to it. */
async function leastOf(work: () => Promise<unknown> | unknown): Promise<Cost> {
  let [wallMs, cpuMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round++) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(cpu);
    wallMs = Math.min(wallMs, performance.now() - start);
    cpuMs = Math.min(cpuMs, (user + system) / 1e3);
  }
  return { wallMs, cpuMs };
}

const line = (name: string, { wallMs, cpuMs }: Cost): void =>
  console.log(`  ${name.padEnd(34)}${wallMs.toFixed(0).padStart(7)} ms, ${cpuMs.toFixed(0)} ms of processor time`);

for (const trials of TRIALS) {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-journal-'));
  const path = join(directory, 'journal.jsonl');
  await writeJournal(path, longStudy(trials));
  console.log(`${trials} trials, ${((await stat(path)).size / 2 ** 20).toFixed(1)} MiB`);
  line('open and fold', await leastOf(async () => foldStudy(await readJournal(path))));
  for (const name of samplerNames.filter((each) => SAMPLERS.includes(each))) {
    line(`resume to the next trial, ${name}`, await leastOf(() => resumed(path, name)));
  }
  const records = await readJournal(path);
  line('show: its first view', await leastOf(() => new ViewFold(records).view()));
  const screen = new ViewFold(records);
  const drawn = (): unknown =>
    frame({ view: screen.view(), interaction: initialInteraction, abilities, notice: null, elapsedSeconds: 1 }, SIZE);
  drawn();
  line('show: a frame after a key', await leastOf(drawn));
  line(
    'show: a frame after a record',
    await leastOf(() => {
      screen.add({ type: 'study-paused', at: '2027-01-01T00:00:00.000Z' });
      drawn();
    }),
  );
  line(
    'write every document',
    await leastOf(() => writeRun(foldStudy(records), directory, (best) => configDocuments(best, 'm', (name) => name))),
  );
  await rm(directory, { recursive: true });
}

/** Resumes a run and ends it when the first new trial starts. */
async function resumed(path: string, name: (typeof samplerNames)[number]): Promise<void> {
  const { journal, records: earlier } = await resumeJournal(path);
  try {
    const options = { seed: 1, goal: longGoal, levels };
    // What is kept of a space is kept with the space: each round has one of its own, as each
    // process has.
    const view = viewSpace(spaceFromJson(longSpace.definition), toOriginal(originalConfig));
    const sampler = makeSampler(name, view, options);
    // Of the events of a resumed run the fourth is of the trial that it goes on with: resumed,
    // limits, proposed, started.
    const plan = { earlier, build: view.build, maxTrials: Number.POSITIVE_INFINITY };
    await play({ plan, goal: longGoal, parts: { sampler }, abortAt: 4 });
  } finally {
    await journal.close();
  }
}
