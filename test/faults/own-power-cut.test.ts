import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { createJournal } from '#study/records/journal.ts';
import { parseForRestoring, parseJournal } from '#study/records/journal-text.ts';
import { runKeyPath } from '#study/records/run-key.ts';
import type { Control } from '#tuner/adapter.ts';
import { isNightly } from '../support/fuzz.ts';
import { FlushedDisk, statesAfterPowerCut } from '../support/power-cut.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { play, World } from '../tuner/world.ts';

/** Of the states in which a write to the journal can be cut off. */
const STATES = isNightly ? 20_000 : 400;
const NEWLINE = 0x0a;

/** A user who has not run tritune before: their key is made in the test. */
beforeEach(async () => void vi.stubEnv('XDG_CONFIG_HOME', join(await freshDirectory(), 'config')));
afterEach(() => void vi.unstubAllEnvs());

interface Left {
  readonly journal: Buffer | null;
  readonly key: Buffer | null;
}

/**
 * A study in a new folder below a new one. Returns its journal, and what the disk had for certain
 * when each change of the server began.
 */
async function studyOnDisk(): Promise<{ readonly left: readonly Left[]; readonly written: Buffer }> {
  const path = join(await freshDirectory(), 'runs', 'one', 'journal.jsonl');
  await mkdir(dirname(path), { recursive: true });
  const { disk, stop } = await FlushedDisk.watch();
  try {
    const world = new World();
    const left: Left[] = [];
    const look = (): void => void left.push({ journal: disk.contentOf(path), key: disk.contentOf(runKeyPath()) });
    const control: Control = {
      ...world.control,
      apply: (candidate, signal) => {
        look();
        return world.control.apply(candidate, signal);
      },
      restore: () => {
        look();
        return world.control.restore();
      },
    };
    const journal = await createJournal(path);
    const { error } = await play({ world, plan: { maxTrials: 2 }, parts: { control, journal } });
    await journal.close();
    expect(error).toBeNull();
    return { left, written: disk.contentOf(path) ?? Buffer.alloc(0) };
  } finally {
    stop();
  }
}

it('before any change of the server the disk has what restores it, and knows the run as its user’s', async () => {
  const { left, written } = await studyOnDisk();
  expect(left.length).toBeGreaterThan(4);
  for (const { journal, key } of left) {
    expect(journal).not.toBeNull();
    expect(key).toHaveLength(32);
    const { records, origin } = parseJournal(journal as Buffer, 'journal', undefined, key);
    expect(origin).toBe('own');
    expect(records[0]?.type).toBe('study-started');
    expect(written.subarray(0, journal?.length)).toEqual(journal);
  }
  // Each change is announced before it is made, but for those of the final.
  const types = left.map(({ journal }) => parseJournal(journal as Buffer, 'journal').records.at(-1)?.type);
  expect(types.slice(0, 3)).toEqual(['trial-started', 'trial-started', 'trial-started']);
});

it('what a power cut leaves of a write takes no record that was flushed before, and adds none', async () => {
  const { written } = await studyOnDisk();
  const whole = parseJournal(written, 'journal').records;
  const ends = [...written.keys()].filter((at) => written[at] === NEWLINE).map((at) => at + 1);
  const random = seededRandom(7);
  for (let states = 0; states < STATES; ) {
    const count = random.int(1, ends.length - 1);
    for (const state of statesAfterPowerCut(written, ends[count - 1] as number, random)) {
      const kept = parseJournal(state, 'journal').records;
      expect([count, count + 1]).toContain(kept.length);
      expect(kept).toEqual(whole.slice(0, kept.length));
      expect(parseForRestoring(state, 'journal', null).records).toEqual(kept);
      states++;
    }
  }
});
