import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Sampler } from '#study/types.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { originalConfig, toCandidate } from '../study/builders.ts';
import { everyCandidate, play, space, World } from './world.ts';

/**
 * One level for each candidate; of the original config another when all are tried, until its own
 * best is known.
 */
function oneLevelEach(own: readonly number[] = [4]): Sampler {
  const { ask } = everyCandidate(space);
  return {
    ask,
    level({ trials }, { role, measurements }) {
      if (measurements.length === 0) return role === 'baseline' ? 1 : 8;
      const isOver = role === 'baseline' && trials.length > 1;
      return isOver ? (own[measurements.length - 1] ?? null) : null;
    },
  };
}

const original = (records: readonly StudyRecord[]) => foldStudy(records).baseline;
const levelsOf = (records: readonly StudyRecord[]) => original(records)?.measurements.map(({ level }) => level.value);

describe('the original config', () => {
  it('is visited again when the search is over, and stands in the final at the level of its own that was found then', async () => {
    const world = new World();
    const { state, records, error } = await play({ world, parts: { sampler: oneLevelEach() } });
    expect(error).toBeNull();
    expect(levelsOf(records)).toEqual([1, 4]);
    expect(state?.trials.map(({ number }) => number)).toEqual([...Array(12).keys()]);
    expect(state?.baseline).toMatchObject({ number: 0, chosen: 1 });
    // 2 to 5 serve the same within the budget; 1 serves less, and is all that was known before.
    const levels = state?.finals.filter(({ trial }) => trial === 0).map(({ measurement }) => measurement.level.value);
    expect(levels?.length).toBeGreaterThan(1);
    for (const level of levels ?? []) expect(level >= 2 && level <= 5, `level ${level}`).toBe(true);
    // The final begins with it: no load more than without the visit.
    const without = new World();
    await play({ world: without, parts: { sampler: oneLevelEach([]) } });
    expect(world.loads).toEqual(without.loads);
  });

  it('is not measured twice in a row: what the visit ended with opens the final', async () => {
    const { events, state } = await play({ parts: { sampler: oneLevelEach([5]) } });
    const finals = state?.finals.filter(({ trial }) => trial === 0) ?? [];
    expect(finals[0]).toEqual({ ...finals[0], round: 1, measurement: state?.baseline?.measurements.at(-1) });
    const measured = events.filter((event) => event.type === 'measuring' && event.trial === 0);
    expect(measured).toHaveLength([1, 5].length + finals.length - 1);
    // The level that was measured last misses the budget: the final begins at another.
    const late = await play({ parts: { sampler: oneLevelEach([4, 8]) } });
    expect(late.state?.baseline?.measurements.at(-1)?.level.value).toBe(8);
    expect(late.state?.finals[0]?.measurement.level.value).toBeLessThan(8);
  });

  it('is visited at the level that the final begins with where the sampler looks for none', async () => {
    const { state } = await play({ parts: { sampler: everyCandidate(space) } });
    const { measurements = [] } = state?.baseline ?? {};
    expect(state?.finals[0]?.measurement).toBe(measurements.at(-1));
    const [last, ...before] = measurements.map(({ level }) => level.value).reverse();
    expect(before, 'read twice: that tells how the speed has changed').toContain(last);
  });

  it('is not where there is no final, or no time for it', async () => {
    const noFinal = await play({ plan: { finalRounds: 0 }, parts: { sampler: oneLevelEach() } });
    const noTime = await play({ plan: { timeBudgetMs: 60_000 }, parts: { sampler: oneLevelEach() } });
    expect(levelsOf(noFinal.records)).toEqual([1]);
    expect(levelsOf(noTime.records)).toEqual([1]);
    expect(noTime.state?.gain).not.toBeNull();
  });

  it('stands as it stood when the visit fails', async () => {
    const world = new World();
    const { fingerprint } = toCandidate(originalConfig);
    world.refuse = (candidate) => {
      if (candidate.fingerprint === fingerprint) throw new CandidateRefusedError('init-failed', 'no');
    };
    const { records, state } = await play({ world, parts: { sampler: oneLevelEach() } });
    expect(original(records)).toMatchObject({ chosen: 0, feasible: true, failure: null });
    expect(state?.finished?.notes).toEqual([expect.stringContaining('the original config failed in the final')]);
  });

  it('is as if it was not begun, for a run that was interrupted in it', async () => {
    const whole = await play({ parts: { sampler: oneLevelEach([4, 2]) } });
    const visit = whole.records.findLastIndex(({ type }) => type === 'trial-started');
    expect(whole.records[visit]).toMatchObject({ trial: 0 });
    for (const cut of [visit + 1, visit + 2, visit + 3]) {
      const resumed = await play({
        plan: { earlier: whole.records.slice(0, cut) },
        parts: { sampler: oneLevelEach([4, 2]) },
      });
      expect(levelsOf(resumed.records), `${cut}`).toEqual([1, 4, 2]);
      expect(resumed.state?.best?.number).toBe(whole.state?.best?.number);
    }
  });

  it('is the only one that is visited again', async () => {
    const { records } = await play({ parts: { sampler: oneLevelEach() } });
    const again = records.find((record) => record.type === 'trial-started' && record.trial === 1) as StudyRecord;
    expect(() => foldStudy([...records, again])).toThrow('trial 1 started again');
  });
});
