import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VirtualClock } from '#base/clock.ts';
import { seededRandom } from '#base/random.ts';
import { foldStudy } from '#study/records/fold.ts';
import { takeLock } from '#study/records/journal-lock.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { type Play, play, World } from '../tuner/world.ts';

const HOUR_MS = 3_600_000;
const AT = Date.parse('2026-01-01T00:00:00Z');

/** The wall clock is set to and fro, by hours, each time that it is read. */
class SetClock extends VirtualClock {
  readonly #random = seededRandom(7);

  override wallMs(): number {
    return AT + super.wallMs() + this.#random.int(-24, 24) * HOUR_MS;
  }
}

/** The model of `World` with a clock that somebody sets meanwhile. */
function playWithSetClock(more: Play = {}) {
  const world = new World();
  Object.defineProperty(world, 'clock', { value: new SetClock() });
  return play({ ...more, world });
}

const withoutTimes = (records: readonly StudyRecord[]): unknown[] => records.map(({ at: _, ...record }) => record);

describe('a wall clock that is set while a run is under way', () => {
  it.each([Number.POSITIVE_INFINITY, 60_000])(
    'changes nothing of the study (time budget %d ms)',
    async (timeBudgetMs) => {
      const steady = await play({ plan: { timeBudgetMs } });
      const set = await playWithSetClock({ plan: { timeBudgetMs } });
      expect(set.error).toBeNull();
      expect(withoutTimes(set.records)).toEqual(withoutTimes(steady.records));
      expect(foldStudy(set.records).elapsedSeconds).toBe(foldStudy(steady.records).elapsedSeconds);
      expect(set.state?.finished?.wallSeconds).toBeCloseTo(foldStudy(set.records).elapsedSeconds, 2);
    },
  );

  it('nor of how much of its time is spent when it is resumed after a kill', async () => {
    const plan = { timeBudgetMs: 60_000 };
    const { records } = await playWithSetClock({ plan });
    const killed = records.slice(0, 12);
    const spent = foldStudy(killed).elapsedSeconds;
    expect(spent).toBeGreaterThan(5);
    expect(spent).toBeLessThan(60);
    const resumed = await playWithSetClock({ plan: { ...plan, earlier: killed } });
    expect(resumed.error).toBeNull();
    // One more step may be under way when its time ends.
    expect(resumed.state?.finished?.wallSeconds).toBeGreaterThan(spent);
    expect(resumed.state?.finished?.wallSeconds).toBeLessThanOrEqual(60 + 4);
  });
});

it('the time between a kill and `restore` is no time of the study', async () => {
  const { records } = await play({});
  const killed = records.slice(0, 12);
  const last = killed.at(-1) as StudyRecord;
  const restored: StudyRecord = {
    type: 'model-restored',
    how: 'config',
    verified: true,
    detail: 'put back',
    at: new Date(Date.parse(last.at) + 5 * HOUR_MS).toISOString(),
  };
  expect(foldStudy([...killed, restored]).elapsedSeconds).toBe(foldStudy(killed).elapsedSeconds);
});

it('a journal of an earlier version, without the time of its run, still says how long it took', async () => {
  const { records } = await play({});
  const earlier = records.map(({ runMs: _, ...record }) => record as StudyRecord);
  expect(foldStudy(earlier).elapsedSeconds).toBeCloseTo(foldStudy(records).elapsedSeconds, 2);
});

it('a lock from before the clock was set back is taken over, when nobody holds it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tritune-lock-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'journal.jsonl.lock');
  const later = new Date(Date.now() + HOUR_MS);
  // The process was killed while it wrote its name.
  writeFileSync(path, '');
  utimesSync(path, later, later);
  takeLock(path)();
});
