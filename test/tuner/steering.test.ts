import { describe, expect, it } from 'vitest';
import { foldStudy } from '../../src/study/fold.ts';
import { checkRecord } from '../../src/study/record-schema.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { gridSampler } from '../../src/study/samplers/grid.ts';
import type { Goal, Sampler } from '../../src/study/types.ts';
import { Steering } from '../../src/tuner/steering.ts';
import { goalOf } from '../study/builders.ts';
import { type Played, play, space, World } from './world.ts';

/** Plays with a hand at the wheel: `act` is called with every record when it is written. */
async function steered(
  act: (record: StudyRecord, steering: Steering, world: World) => void,
  more: { readonly maxTrials?: number; readonly samplerFor?: (goal: Goal) => Sampler; readonly budgetMs?: number } = {},
): Promise<Played> {
  const { maxTrials = 4, samplerFor, budgetMs = 40 } = more;
  const [world, steering] = [new World(), new Steering()];
  const records: StudyRecord[] = [];
  const journal = {
    append: async (record: StudyRecord) => {
      records.push(JSON.parse(JSON.stringify(record)));
      act(record, steering, world);
    },
  };
  const parts = { journal, steering, ...(samplerFor && { samplerFor }) };
  const played = await play({ world, plan: { maxTrials }, parts, goal: goalOf(budgetMs) });
  expect(world.restores).toBe(1);
  return { ...played, records };
}

const isStart = (record: StudyRecord, trial: number): boolean =>
  record.type === 'trial-started' && record.trial === trial;

describe('steering', () => {
  it('pauses between two steps, and a pause does not count as time', async () => {
    const undisturbed = await play({ plan: { maxTrials: 4 } });
    const { state, records } = await steered((record, steering, world) => {
      if (isStart(record, 2)) steering.pause();
      if (record.type !== 'study-paused') return;
      setImmediate(() => {
        world.clock.advance(3_600_000);
        steering.resume();
      });
    });
    expect(records.map(({ type }) => type).filter((type) => type.startsWith('study-'))).toEqual([
      'study-started',
      'study-paused',
      'study-continued',
      'study-finished',
    ]);
    const paused = records.findIndex(({ type }) => type === 'study-paused');
    expect(records[paused - 1]).toMatchObject({ type: 'trial-applied', trial: 2 });
    expect(state?.elapsedSeconds).toBeCloseTo(undisturbed.state?.elapsedSeconds ?? 0, 5);
    expect(state?.finished?.wallSeconds).toBeCloseTo(undisturbed.state?.finished?.wallSeconds ?? 0, 5);
  });

  it('does not count the time of a pause that the end of the run cuts short', () => {
    const at = (second: number) => ({ at: new Date(second * 1e3).toISOString() });
    const { records } = { records: [] as StudyRecord[] };
    const started = { ...at(0), type: 'study-started', goal: goalOf(40), server: {} } as unknown as StudyRecord;
    records.push(started, { ...at(10), type: 'study-paused' });
    records.push({ ...at(20), type: 'goal-changed', goal: goalOf(30) });
    records.push({ ...at(100), type: 'model-restored', how: 'config', verified: true, detail: '' });
    records.push({ ...at(101), type: 'study-finished', stopReason: '', interrupted: true, wallSeconds: 11 });
    expect(foldStudy(records).elapsedSeconds).toBe(11);
  });

  it('leaves a trial; what it measured counts', async () => {
    const { records, state } = await steered((record, steering) => {
      if (record.type === 'trial-measured' && record.trial === 2) steering.skipTrial();
    });
    expect(records.filter((record) => record.type === 'trial-measured' && record.trial === 2)).toHaveLength(1);
    expect(state?.trials[2]).toMatchObject({ failure: null, chosen: 0, feasible: true });
    expect(state?.trials).toHaveLength(5);
    expect(state?.finished?.interrupted).toBe(false);
  });

  it('leaves a trial that has measured nothing as skipped, once it is loaded', async () => {
    const { state } = await steered((record, steering) => {
      if (isStart(record, 2)) steering.skipTrial();
    });
    expect(state?.trials[2]).toMatchObject({ failure: { kind: 'skipped' }, chosen: null, applied: { change: 'full' } });
    expect(state?.trials[3]?.failure).toBeNull();
  });

  it('does not leave the baseline', async () => {
    const { state } = await steered((record, steering) => {
      if (isStart(record, 0)) steering.skipTrial();
    });
    expect(state?.baseline?.failure).toBeNull();
  });

  it('stops the search and decides in the final', async () => {
    const { state } = await steered(
      (record, steering) => {
        if (record.type === 'trial-measured' && record.trial === 3) steering.stopSearch();
      },
      { maxTrials: 12 },
    );
    expect(state?.trials.map(({ number }) => number)).toEqual([0, 1, 2, 3]);
    expect(state?.finished).toMatchObject({ stopReason: 'stopped by the user', interrupted: false });
    expect(state?.gain?.gain?.value).toBeGreaterThan(1);
  });

  it('ranks by a new budget at once, asks a sampler for it, and resumes with it', async () => {
    const asked: (number | undefined)[] = [];
    const samplerFor = (goal: Goal): Sampler => {
      asked.push(goal.budget?.latencyMs);
      return gridSampler(space);
    };
    const { records, state } = await steered(
      (record, steering) => {
        if (record.type === 'trial-finished' && record.trial === 2) steering.changeBudget(12);
      },
      { samplerFor },
    );
    const at = records.findIndex(({ type }) => type === 'goal-changed');
    expect(checkRecord(records[at])).toHaveProperty('record');
    const [before, after] = [foldStudy(records.slice(0, at)), foldStudy(records.slice(0, at + 1))];
    expect(before.goal.budget?.latencyMs).toBe(40);
    expect(after.goal.budget).toEqual({ percentile: 99, latencyMs: 12 });
    const latencyOf = ({ contender }: typeof after): number =>
      contender?.measurements[contender.chosen ?? 0]?.budgetLatencyMs.value ?? 0;
    expect(latencyOf(before)).toBeGreaterThan(12);
    expect(latencyOf(after)).toBeLessThanOrEqual(12);
    expect(asked).toEqual([12]);
    expect(state?.trials).toHaveLength(5);
    expect(state?.goal.budget?.latencyMs).toBe(12);
    asked.length = 0;
    const resumed = await play({
      plan: { earlier: records.filter(({ type }) => !/gain|final|study-finished/.test(type)), maxTrials: 6 },
      parts: { samplerFor },
    });
    expect(asked).toEqual([12]);
    expect(resumed.state?.goal.budget?.latencyMs).toBe(12);
  });

  it('runs a trial by hand before the sampler is asked, beyond the limit of trials too', async () => {
    const { state, records } = await steered(
      (record, steering) => {
        if (!isStart(record, 1)) return;
        steering.enqueue({ assignment: { batch: 8, count: 4 }, levels: { kind: 'fixed', values: [16] } });
      },
      { maxTrials: 1 },
    );
    expect(state?.trials.map(({ candidate }) => candidate.assignment)).toEqual([
      {},
      { batch: 1, count: 1 },
      { batch: 8, count: 4 },
    ]);
    const levels = records.flatMap((each) => (each.type === 'trial-measured' && each.trial === 2 ? [each] : []));
    expect(levels.map(({ measurement }) => measurement.level.value)).toEqual([16]);
  });
});
