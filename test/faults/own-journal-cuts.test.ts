import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { foldStudy } from '#study/records/fold.ts';
import { createJournal, readJournal, resumeJournal } from '#study/records/journal.ts';
import { parseJournal } from '#study/records/journal-text.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { isNightly } from '../support/fuzz.ts';
import { type Played, play, World } from '../tuner/world.ts';

const CUTS = 500;
/** Of those, so many studies go on to their end. */
const RESUMED = isNightly ? CUTS : 8;
const NEWLINE = 0x0a;

const directory = mkdtempSync(join(tmpdir(), 'tritune-cuts-'));
const path = join(directory, 'journal.jsonl');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let bytes: Uint8Array = new Uint8Array();
let records: readonly StudyRecord[] = [];
let whole: Played;

/** A run as it is written: the journal of a study on the disk. */
async function tuned(earlier: readonly StudyRecord[], journal: Awaited<ReturnType<typeof createJournal>>) {
  const world = new World();
  const played = await play({ world, plan: { earlier, maxTrials: 2 }, parts: { journal } });
  await journal.close();
  return { ...played, world };
}

beforeAll(async () => {
  whole = await tuned([], await createJournal(path));
  bytes = readFileSync(path);
  records = await readJournal(path);
});

/**
 * Seeded, and each of them after the first line: before it there is no study, and nothing was
 * changed.
 */
function cuts(): number[] {
  const random = seededRandom(10);
  const first = bytes.indexOf(NEWLINE) + 1;
  return Array.from({ length: CUTS }, () => random.int(first, bytes.length));
}

it('a journal that was cut off at any byte reads back as far as its lines are whole', () => {
  expect(records.length).toBeGreaterThan(30);
  for (const cut of cuts()) {
    const lines = bytes.subarray(0, cut).filter((byte) => byte === NEWLINE).length;
    const kept = parseJournal(bytes.subarray(0, cut), path).records;
    expect([kept.length, kept.at(-1)], `cut at ${cut}`).toEqual([lines, records[lines - 1]]);
  }
});

it('and its study goes on from there to the same end', { timeout: 600_000 }, async () => {
  for (const cut of cuts().slice(0, RESUMED)) {
    writeFileSync(path, bytes.subarray(0, cut));
    const resumed = await resumeJournal(path);
    const finished = foldStudy(resumed.records).trials.map(({ number }) => number);
    const { error, world } = await tuned(resumed.records, resumed.journal);
    expect(error, `cut at ${cut}`).toBeNull();
    expect(world.restores).toBe(1);
    const all = await readJournal(path);
    const anew = all.slice(resumed.records.length).flatMap((each) => (each.type === 'trial-started' ? each.trial : []));
    // The original config alone is visited again, once, when the search is over.
    const again = anew.filter((trial) => finished.includes(trial));
    expect([[], [0]]).toContainEqual(again);
    expect(foldStudy(all).trials.map(({ candidate }) => candidate.fingerprint)).toEqual(
      whole.state?.trials.map(({ candidate }) => candidate.fingerprint),
    );
    expect(foldStudy(all).gain?.best).toBe(whole.state?.gain?.best);
  }
});

it('a run that is resumed may change the model again, whatever its journal says until then', () => {
  const { server } = foldStudy(records);
  const resumed: StudyRecord = { type: 'study-resumed', at: records[0]?.at ?? '', server };
  expect(foldStudy(records).restored).toMatchObject({ verified: true });
  expect(foldStudy([...records, resumed]).restored).toBeNull();
});

it('a journal without its first line is written anew: its run had changed nothing', async () => {
  const first = bytes.indexOf(NEWLINE) + 1;
  const zeros = Buffer.from(bytes.subarray(0, first)).fill(0, first >> 1, first - 1);
  const unbegun = [...[0, 3, first >> 1, first - 1].map((cut) => bytes.subarray(0, cut)), zeros, Buffer.alloc(first)];
  for (const left of unbegun) {
    writeFileSync(path, left);
    const journal = await createJournal(path);
    await journal.append(records[0] as StudyRecord);
    await journal.close();
    expect(await readJournal(path)).toEqual(records.slice(0, 1));
  }
  for (const other of [bytes.subarray(0, first), 'notes', '{"at":"home"}\n']) {
    writeFileSync(path, other);
    await expect(createJournal(path)).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
  }
});
