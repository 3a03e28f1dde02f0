import { describe, expect, it } from 'vitest';
import { allows, type Narrowing, whyRuledOut } from '#space/narrowing.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Goal, Sampler } from '#study/types.ts';
import type { TuneParts } from '#tuner/run.ts';
import { Steering } from '#tuner/steering.ts';
import { goalOf } from '../study/builders.ts';
import { everyCandidate, type Played, play, space, World } from './world.ts';

/** Plays with a hand at the wheel: `act` is called with every record when it is written. */
async function steered(
  act: (record: StudyRecord, steering: Steering, world: World) => void,
  more: {
    readonly maxTrials?: number;
    readonly samplerFor?: NonNullable<TuneParts['samplerFor']>;
    readonly budgetMs?: number;
  } = {},
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

/** What a test's samplers see of the space when it is narrowed. */
const narrowedSpace = (narrowing: Narrowing): SpaceView => ({
  ...space,
  *assignments() {
    for (const each of space.assignments()) if (whyRuledOut(narrowing, each) === null) yield each;
  },
});

/** A journal up to the record of that kind, as a run leaves it that is killed there. */
const killedAt = (records: readonly StudyRecord[], type: StudyRecord['type'], which = 0): readonly StudyRecord[] => {
  const places = records.flatMap((record, index) => (record.type === type ? [index] : []));
  return records.slice(0, (places[which] ?? records.length) + 1);
};

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
      return everyCandidate(space);
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

  it('searches what a person left of the space, from the next proposal on, and after a resume', async () => {
    const narrowing: Narrowing = { batch: { pinned: 8 }, count: { excluded: [1] } };
    const made: Narrowing[] = [];
    const samplerFor = (_: Goal, left: Narrowing): Sampler => {
      made.push(left);
      return everyCandidate(narrowedSpace(left));
    };
    const { records, state } = await steered(
      (record, steering) => {
        if (isStart(record, 2)) steering.narrow(narrowing);
      },
      { samplerFor },
    );
    const at = records.findIndex(({ type }) => type === 'space-narrowed');
    expect(checkRecord(records[at])).toEqual({ record: records[at] });
    expect(state?.trials.map(({ candidate }) => candidate.assignment)).toEqual([
      {},
      { batch: 1, count: 1 },
      { batch: 1, count: 2 },
      { batch: 8, count: 2 },
      { batch: 8, count: 3 },
    ]);
    expect(state?.narrowing).toEqual(narrowing);
    expect(made).toEqual([narrowing]);

    made.length = 0;
    const resumed = await play({
      plan: { earlier: killedAt(records, 'trial-finished', 3), maxTrials: 5 },
      parts: { samplerFor },
    });
    expect(made).toEqual([narrowing]);
    const later = resumed.state?.trials.slice(3).map(({ candidate }) => candidate.assignment) ?? [];
    expect(later).toHaveLength(3);
    for (const { batch, count } of later) {
      expect([batch === 8, allows(narrowing, 'count', count as number)]).toEqual([true, true]);
    }
  });

  it('keeps what was measured in the running when its values are excluded later', async () => {
    const { state } = await steered(
      (record, steering) => {
        if (record.type === 'trial-finished' && record.trial === 4) steering.narrow({ count: { pinned: 1 } });
      },
      { maxTrials: 6, samplerFor: (_, left) => everyCandidate(narrowedSpace(left)) },
    );
    // With one instance there is this left: batch 4 is the original config.
    expect(state?.trials.slice(5).map(({ candidate }) => candidate.assignment)).toEqual([{ batch: 8, count: 1 }]);
    expect(state?.contender?.candidate.assignment).toEqual({ batch: 1, count: 4 });
  });

  it('tries what was asked for in its order, each once, also when the run was killed meanwhile', async () => {
    const wishes = [4, 3, 2].map((count) => ({ assignment: { batch: 8, count }, levels: { kind: 'search' } as const }));
    const { records, state } = await steered(
      (record, steering) => {
        if (isStart(record, 1)) for (const wish of wishes) steering.enqueue(wish);
      },
      { maxTrials: 5 },
    );
    const asked = records.filter(({ type }) => type === 'trial-requested');
    expect(asked).toHaveLength(3);
    expect(checkRecord(asked[0])).toEqual({ record: asked[0] });
    const tried = state?.trials.map(({ candidate }) => candidate.assignment) ?? [];
    expect(tried.slice(2, 5)).toEqual(wishes.map(({ assignment }) => assignment));
    expect(tried[5]).toEqual({ batch: 1, count: 2 });
    expect(state?.requested).toEqual([]);

    // Killed with the first of them under way, and two that wait.
    const killed = killedAt(records, 'trial-started', 2);
    expect(foldStudy(killed).requested).toEqual(wishes.slice(1));
    const resumed = await play({ plan: { earlier: killed, maxTrials: 5 } });
    expect(resumed.state?.trials.map(({ candidate }) => candidate.assignment)).toEqual(tried);
  });

  it('does not try what was taken back while it waited, also when the run was killed meanwhile', async () => {
    const wish = (count: number) => ({ assignment: { batch: 8, count }, levels: { kind: 'search' } }) as const;
    const { records, state } = await steered(
      (record, steering) => {
        if (isStart(record, 1)) {
          for (const count of [4, 3, 4, 2]) steering.enqueue(wish(count));
          // Of two alike the later one goes; one that nobody asked for changes nothing.
          for (const count of [4, 1, 2]) steering.withdraw(wish(count));
        }
        // It is under way: what waits is not touched.
        if (record.type === 'trial-applied' && record.trial === 2) steering.withdraw(wish(4));
      },
      { maxTrials: 5 },
    );
    const taken = records.filter(({ type }) => type === 'trial-withdrawn');
    expect(taken[0]).toMatchObject(wish(4));
    expect(checkRecord(taken[0])).toEqual({ record: taken[0] });
    const tried = state?.trials.map(({ candidate }) => candidate.assignment) ?? [];
    expect(tried.slice(2, 5)).toEqual([wish(4).assignment, wish(3).assignment, { batch: 1, count: 2 }]);
    expect(state?.requested).toEqual([]);

    const killed = killedAt(records, 'trial-started', 2);
    expect(foldStudy(killed).requested).toEqual([wish(3)]);
    const resumed = await play({ plan: { earlier: killed, maxTrials: 5 } });
    expect(resumed.state?.trials.map(({ candidate }) => candidate.assignment)).toEqual(tried);
  });

  it('hears of a wish taken back before it acts on it, however slow the disk is', async () => {
    const [steering, wish] = [
      new Steering(),
      { assignment: { batch: 8, count: 4 }, levels: { kind: 'search' } } as const,
    ];
    const other = { ...wish, assignment: { batch: 8, count: 3 } };
    let written: Promise<void> = Promise.resolve();
    const journal = {
      append: (record: StudyRecord): Promise<void> => {
        if (isStart(record, 1)) for (const each of [wish, other]) steering.enqueue(each);
        const ofTrial = record.type === 'trial-finished' && record.trial === 1;
        written = written.then(() => new Promise((done) => setImmediate(done)));
        return written.then(() => {
          // The loop goes on with the next trial while this is written down.
          if (ofTrial) steering.withdraw(wish);
        });
      },
    };
    const { state } = await play({ plan: { maxTrials: 3 }, parts: { journal, steering } });
    expect(state?.trials[2]?.candidate.assignment).toEqual(other.assignment);
    expect(state?.trials.map(({ candidate }) => candidate.assignment)).not.toContainEqual(wish.assignment);
    expect(state?.requested).toEqual([]);
  });

  it('writes down what was asked for before the run began to listen', async () => {
    const steering = new Steering();
    steering.narrow({ count: { pinned: 2 } });
    steering.enqueue({ assignment: { batch: 4, count: 4 }, levels: { kind: 'search' } });
    const { state } = await play({
      plan: { maxTrials: 2 },
      parts: { steering, samplerFor: (_, left) => everyCandidate(narrowedSpace(left)) },
    });
    expect(state?.trials.map(({ candidate }) => candidate.assignment)).toEqual([
      {},
      { batch: 4, count: 4 },
      { batch: 1, count: 2 },
    ]);
  });
});
