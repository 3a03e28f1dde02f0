import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { restoreRun } from '#app/restore-study.ts';
import { type Random, seededRandom } from '#base/random.ts';
import type { Faults } from '#emulator/faults.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { isNightly } from '../support/fuzz.ts';
import { repeatedTrials } from '../support/killed-study.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { casesOf, type OwnStage, runHere, shortRun, stageOf } from './own-stage.ts';

/** Of all studies together. A study is killed so often at most, and then comes to its end. */
const MOMENTS = isNightly ? 100 : 4;
const KILLS = isNightly ? 10 : 2;
/** At once. */
const STUDIES = 2;
/** What a study writes that nobody kills. */
const LINES = 30;
const LONGEST_WAIT_MS = 60_000;
const SLOW_LOAD_MS = 500;

const journalIn = (directory: string): string => join(directory, 'journal.jsonl');
const linesIn = async (directory: string): Promise<number> =>
  (await readFile(journalIn(directory), 'utf8').catch(() => '')).split('\n').length - 1;

/**
 * Few, so that one study is killed often; and at night at times so many that its final, its last
 * words and its end are come to.
 */
function linesToWrite(random: Random): number {
  if (!isNightly) return random.int(0, 8);
  return random.float() < 0.6 ? random.int(0, 4) : random.int(4, LINES);
}

/**
 * Kills a run some moment after it has written so many more lines. False for one that was done by
 * then.
 */
async function killAtRandom(args: readonly string[], directory: string, random: Random): Promise<boolean> {
  const before = await linesIn(directory);
  const run = startCli(args);
  const lines = before + linesToWrite(random);
  const endMs = performance.now() + LONGEST_WAIT_MS;
  while (performance.now() < endMs && run.child.exitCode === null && (await linesIn(directory)) < lines)
    await sleep(20);
  // Most of what lies between two lines takes long, and what does not is found at once.
  await sleep(random.int(0, random.float() < 0.5 ? 10 : 600));
  run.child.kill('SIGKILL');
  const { code, signal, stderr } = await run.ended;
  expect([code, signal, stderr]).toEqual(signal ? [null, 'SIGKILL', ''] : [0, null, '']);
  return signal !== null;
}

/**
 * What must hold after any moment. Gives what the journal says; nothing where the run had not begun
 * to write.
 */
async function checkKilled(stage: OwnStage, model: string, directory: string, random: Random): Promise<StudyRecord[]> {
  if ((await linesIn(directory)) === 0) {
    expect(await stage.isOriginal(model)).toBe(true);
    return [];
  }
  const records = await readJournal(journalIn(directory));
  foldStudy(records);
  if (random.float() < 0.5) {
    await restoreRun(directory, { how: 'config', force: false, tell: () => undefined });
    expect(await stage.isOriginal(model)).toBe(true);
    expect(foldStudy(await readJournal(journalIn(directory))).restored).toMatchObject({ verified: true });
  }
  return [...records];
}

/** One study. Gives how often it was killed. */
async function studyKilledOften(stage: OwnStage, model: string, seed: number, most: number): Promise<number> {
  const random = seededRandom(seed);
  const directory = join(await freshDirectory(), 'run');
  const anew = shortRun(model, stage.url, directory);
  let before: StudyRecord[] = [];
  let kills = 0;
  while (kills < most) {
    const args = before.length === 0 ? anew : ['tune', '--resume', directory];
    if (!(await killAtRandom(args, directory, random))) break;
    kills++;
    const records = await checkKilled(stage, model, directory, random);
    // Nothing that was written is lost.
    expect(records.slice(0, before.length)).toEqual(before);
    before = records;
  }
  const isBegun = (await linesIn(directory)) > 0;
  const outcome = await runHere(isBegun ? ['tune', '--resume', directory] : anew);
  expect(outcome, `seed ${seed}`).toMatchObject({ code: 0, stderr: '' });
  expect(await stage.isOriginal(model)).toBe(true);
  checkWhole(await readJournal(journalIn(directory)));
  return kills;
}

/**
 * A study like one that was never killed: every trial once, in order, the original config again at
 * the end or where the machine's speed changed, and a final.
 */
function checkWhole(records: readonly StudyRecord[]): void {
  expect(repeatedTrials(records)).toEqual([]);
  const finished = records.flatMap((record) => (record.type === 'trial-finished' ? record.trial : []));
  expect(finished[0]).toBe(0);
  expect(finished.filter((trial) => trial !== 0)).toEqual([1, 2]);
  const state = foldStudy(records);
  expect(state).toMatchObject({ restored: { verified: true }, finished: { interrupted: false } });
  expect(state.gain).not.toBeNull();
}

/** Kills a run while the server loads a candidate for it. */
async function killInLoad(args: readonly string[], faults: Faults): Promise<void> {
  const loading = new Promise<void>((begun) => {
    faults.delayLoadMs = () => {
      begun();
      return SLOW_LOAD_MS;
    };
  });
  const run = startCli(args);
  await Promise.race([loading, run.ended]);
  faults.delayLoadMs = () => 0;
  run.child.kill('SIGKILL');
  await run.ended;
}

it('a load that a killed run has left under way does not come after what is put back', {
  timeout: 60_000,
}, async () => {
  const faults: Faults = {};
  const stage = await stageOf(['m'], faults);
  const directory = join(await freshDirectory(), 'run');
  // The second time the journal says that the model was put back before that run.
  for (const args of casesOf(1, [shortRun('m', stage.url, directory), ['tune', '--resume', directory]])) {
    await killInLoad(args, faults);
    expect((await readJournal(journalIn(directory))).at(-1)).toMatchObject({ type: 'trial-started', role: 'search' });
    expect(await restoreRun(directory, { how: 'config', force: false, tell: () => undefined })).toBe(
      "'m' has its original config again",
    );
    await sleep(2 * SLOW_LOAD_MS);
    expect(await stage.isOriginal('m')).toBe(true);
  }
});

it('a run that was killed before its first record is started again in the same directory', {
  timeout: 60_000,
}, async () => {
  const faults: Faults = {};
  const stage = await stageOf(['m'], faults);
  const directory = join(await freshDirectory(), 'run');
  const args = shortRun('m', stage.url, directory);
  // It has locked the model by then.
  const reading = new Promise<void>((begun) => {
    faults.disturbStatistics = () => {
      begun();
      return 'fail';
    };
  });
  const run = startCli(args);
  await Promise.race([reading, run.ended]);
  run.child.kill('SIGKILL');
  expect(await run.ended).toMatchObject({ signal: 'SIGKILL' });
  expect(await linesIn(directory)).toBe(0);
  faults.disturbStatistics = () => null;
  const again = startCli(args);
  await untilRecorded(directory, again, ({ type }) => type === 'study-started');
  again.child.kill('SIGKILL');
  await again.ended;
});

it(
  'kill -9 at any moment loses nothing that was written, and leaves nothing that cannot be put back',
  async () => {
    const models = Array.from({ length: STUDIES }, (_, index) => `m${index}`);
    const stage = await stageOf(models);
    const killModel = async (model: string, index: number): Promise<void> => {
      let left = MOMENTS / STUDIES;
      for (let seed = 1000 * index; left > 0; seed++)
        left -= await studyKilledOften(stage, model, seed, Math.min(KILLS, left));
    };
    await Promise.all(models.map(killModel));
  },
  isNightly ? 3_600_000 : 180_000,
);
