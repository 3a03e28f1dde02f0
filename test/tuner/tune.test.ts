import { describe, expect, it } from 'vitest';
import { TrituneError } from '#base/errors.ts';
import { toModelConfig } from '#space/model-configs.ts';
import type { Assignment } from '#space/types.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { isDone } from '#study/summary/series-summary.ts';
import type { Sampler } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { MeasurePurpose, Profile } from '#tuner/adapter.ts';
import { tune } from '#tuner/tune.ts';
import { goalOf, measured, originalConfig, studyStarted } from '../study/builders.ts';
import {
  adapterOf,
  everyCandidate,
  instancesIn,
  lost,
  play,
  refuseAbove,
  space,
  untilItStops,
  World,
} from './world.ts';

const codeOf = (error: unknown): unknown => (error as TrituneError | null)?.code;

describe('a full run', () => {
  it('measures the baseline, the space, and the final in turn, restores, and finds the best', async () => {
    const world = new World();
    const { state, error, records } = await play({ world });
    expect(error).toBeNull();
    expect(state?.trials.map((trial) => trial.number)).toEqual([...Array(12).keys()]);
    expect(state?.best?.candidate.assignment).toEqual({ batch: 8, count: 4 });
    expect(state?.gain?.gain?.value).toBeCloseTo(720 / 140, 1);
    expect(state?.finals.map((final) => final.trial === state.best?.number)).toEqual([
      false,
      true,
      true,
      false,
      false,
      true,
    ]);
    expect(state?.finished).toMatchObject({
      interrupted: false,
      stopReason: 'every candidate of the list was tried',
    });
    expect(state?.restored).toMatchObject({ verified: true });
    expect(world.served).toBe(originalConfig);
    expect(records[0]?.type).toBe('study-started');
    expect(records.slice(-2).map((record) => record.type)).toEqual(['model-restored', 'study-finished']);
    expect(foldStudy(records).best?.number).toBe(state?.best?.number);
  });

  it('writes the start down before it touches the server', async () => {
    const world = new World();
    const journal = { append: async () => Promise.reject(new TrituneError('OUTPUT_UNWRITABLE', 'full', 'free some')) };
    const { error } = await play({ world, parts: { journal } });
    expect(codeOf(error)).toBe('OUTPUT_UNWRITABLE');
    expect(world.loads).toEqual([]);
  });

  it('spends fewer measurements on later trials than on the baseline', async () => {
    const { state } = await play({});
    const counts = state?.trials.map((trial) => trial.measurements.length) ?? [];
    const later = counts.slice(1).reduce((sum, count) => sum + count, 0) / (counts.length - 1);
    expect(later).toBeLessThan(counts[0] as number);
  });

  it('stops at the limit of trials', async () => {
    const { state } = await play({ plan: { maxTrials: 3 } });
    expect(state?.counts.trials).toBe(4);
    expect(state?.finished?.stopReason).toBe('the limit of 3 trials was reached');
  });

  it('keeps the time budget within one measurement, final included', async () => {
    for (const timeBudgetMs of [40_000, 60_000, 80_000]) {
      const { state } = await play({ plan: { timeBudgetMs } });
      expect(state?.finished?.stopReason).toContain('the time budget');
      expect(state?.finished?.wallSeconds).toBeLessThanOrEqual(timeBudgetMs / 1000 + 4);
      expect(state?.gain, `${timeBudgetMs}`).not.toBeNull();
    }
  });

  it('tells the search from the final, which is measured for as long as anything else', async () => {
    const world = new World();
    const asked: (MeasurePurpose | undefined)[] = [];
    const profile: Profile = {
      measure: (applied, level, options) => {
        asked.push(options.purpose);
        return world.profile.measure(applied, level, options);
      },
    };
    const { state } = await play({ world, parts: { profile } });
    const searched = state?.trials.flatMap(({ measurements }) => measurements).length ?? 0;
    const finals = state?.finals.length ?? 0;
    expect(finals).toBeGreaterThan(3);
    // What the search measured last, of the original config, is the first of the final.
    expect(asked).toEqual(['rest', ...Array(searched - 1).fill('search'), ...Array(finals - 1).fill(undefined)]);
  });

  it('tries a candidate where no time is left for a final: there would be nothing to compare', async () => {
    const alone = await play({ plan: { maxTrials: 0, finalRounds: 0 } });
    const baselineMs = 1e3 * (alone.state?.finished?.wallSeconds ?? Number.NaN);
    const { state } = await play({ plan: { timeBudgetMs: 1.5 * baselineMs } });
    expect(state?.trials.length).toBeGreaterThan(1);
    expect(state?.finished?.wallSeconds).toBeLessThanOrEqual((1.5 * baselineMs) / 1e3 + 4);
  });

  it('emits the original when the best of the search does not beat it in the final', async () => {
    const world = new World();
    const { sampler, hasStopped } = untilItStops(everyCandidate(space));
    world.bend = (measurement, config) =>
      hasStopped() && config !== originalConfig
        ? { ...measurement, throughput: { value: 50, low: 49, high: 51 } }
        : measurement;
    const { state, records } = await play({ world, parts: { sampler } });
    expect(state?.best?.role).toBe('baseline');
    const searched = foldStudy(
      records.slice(
        0,
        records.findIndex(({ type }) => type === 'final-measured'),
      ),
    );
    const played = new Set(state?.finals.map(({ trial }) => trial));
    expect(searched.contender?.role).toBe('search');
    expect(played).toContain(searched.contender?.number);
    expect(state?.gain?.gain).toEqual({ value: 1, low: 1, high: 1 });
    expect(played).toContain(state?.gain?.rejected?.trial);
  });
});

describe('readings that the sampler doubts', () => {
  /** Holds all of the third trial for luck, until another two have been. */
  const doubting = (): Sampler => ({
    ...everyCandidate(space),
    doubted: ({ trials: { length, 3: third } }) =>
      length < 6 ? (third?.measurements ?? []).map((_, reading) => ({ trial: 3, reading })) : [],
  });
  const doubtsIn = (records: readonly StudyRecord[]): number[][] =>
    records.flatMap((record) =>
      record.type === 'readings-doubted' ? [[...new Set(record.readings.map(({ trial }) => trial))]] : [],
    );

  it('are written down when they become others, and are not the best', async () => {
    const { records } = await play({ parts: { sampler: doubting() }, plan: { maxTrials: 6 } });
    expect(doubtsIn(records)).toEqual([[3], []]);
    const end = 1 + records.findIndex((record) => record.type === 'trial-finished' && record.trial === 3);
    const [before, after] = [records.slice(0, end), records.slice(0, end + 1)].map((some) => foldStudy(some));
    expect([before?.best?.number, after?.best?.number]).toEqual([3, 2]);
  });

  it('are the same to a run that is resumed', async () => {
    const { records } = await play({ parts: { sampler: doubting() }, plan: { maxTrials: 3 } });
    const end = records.findIndex(({ type }) => type === 'readings-doubted');
    const again = await play({
      parts: { sampler: doubting() },
      plan: { maxTrials: 3, earlier: records.slice(0, end + 1) },
    });
    expect(doubtsIn(again.records)).toEqual([[3]]);
    expect(again.state?.doubted[0]).toEqual({ trial: 3, reading: 0 });
  });
});

describe('failures', () => {
  it('records a refused load with the words of the server, goes on, and prunes', async () => {
    const world = new World();
    world.refuse = refuseAbove(2);
    const { state, error } = await play({ world });
    expect(error).toBeNull();
    const failed = state?.trials.filter((trial) => trial.failure) ?? [];
    // 3 instances with a batch of 1 fail first; all that is as heavy is never sent.
    expect(failed.map((trial) => trial.failure)).toEqual([{ kind: 'out-of-memory', reason: 'CUDA out of memory' }]);
    expect(state?.best?.candidate.assignment).toEqual({ batch: 8, count: 2 });
  });

  it('records an illegal proposal and one that is known to fail, without sending either', async () => {
    const world = new World();
    world.refuse = refuseAbove(2);
    const proposals: Assignment[] = [{ batch: 4, count: 3 }, { batch: 8, count: 4 }, { illegal: true }];
    const sampler: Sampler = {
      ask: ({ trials }) => {
        const assignment = proposals[trials.length - 1];
        return assignment
          ? ({ kind: 'trial', assignment, levels: { kind: 'fixed', values: [4, 8] } } as const)
          : ({ kind: 'stop', reason: 'the list' } as const);
      },
    };
    const build: typeof space.build = (assignment) =>
      'illegal' in assignment ? { legal: false, reason: 'against a rule' } : space.build(assignment);
    const { state } = await play({ world, parts: { sampler, build } });
    expect(state?.trials.slice(1).map((trial) => trial.failure?.kind)).toEqual(['out-of-memory', 'pruned', 'illegal']);
    expect(world.loads).toEqual([]);
  });

  it('measures exactly the levels of a fixed plan', async () => {
    const answers = [
      { kind: 'trial', assignment: { batch: 4, count: 2 }, levels: { kind: 'fixed', values: [3, 50] } } as const,
    ];
    const sampler = { ask: () => answers.pop() ?? ({ kind: 'stop', reason: 'the list' } as const) };
    const { state } = await play({ parts: { sampler } });
    expect(state?.trials[1]?.measurements.map((measurement) => measurement.level.value)).toEqual([3, 50]);
  });

  it('outlasts a server that is away for a while, and applies the candidate again', async () => {
    const world = new World();
    let calls = 0;
    world.bend = (measurement) => {
      if (++calls !== 12) return measurement;
      world.served = originalConfig;
      return lost();
    };
    const { state, error } = await play({ world });
    expect(error).toBeNull();
    expect(state?.best?.candidate.assignment).toEqual({ batch: 8, count: 4 });
    expect(state?.counts.failed).toBe(0);
  });

  it('takes a candidate that the server does not outlive for a failed trial, and goes on', async () => {
    for (const step of ['load', 'measurement']) {
      const world = new World();
      const kills = (config: ModelConfig): boolean => instancesIn(config) === 3;
      if (step === 'load') world.refuse = (candidate) => void (kills(toModelConfig(candidate)) && lost());
      else {
        world.bend = (measurement, config) => {
          if (!kills(config)) return measurement;
          world.served = originalConfig;
          return lost();
        };
      }
      const { state, error } = await play({ world, plan: { maxTrials: 7 } });
      expect(error).toBeNull();
      const failures = state?.trials.flatMap(({ failure }) => failure ?? []) ?? [];
      expect(failures).toEqual([
        { kind: 'requests-failed', reason: expect.stringContaining('became unreachable 3 times') },
        { kind: 'requests-failed', reason: expect.stringContaining('became unreachable 3 times') },
      ]);
      expect(state?.best?.candidate.assignment).toEqual({ batch: 4, count: 4 });
    }
  });

  it('measures anew what somebody else has changed meanwhile, and takes it for a failed trial when that goes on', async () => {
    const changing = (times: number): World => {
      const world = new World();
      let left = times;
      world.bend = (measurement, config) => {
        if (instancesIn(config) === 2 && left-- > 0) {
          world.served = { ...config, max_batch_size: 99 };
          return { ...measurement, throughput: { value: 1e6, low: 1e6, high: 1e6 } };
        }
        return measurement;
      };
      return world;
    };
    const once = await play({ world: changing(1), plan: { maxTrials: 3 } });
    expect(once.error).toBeNull();
    expect(once.state?.counts.failed).toBe(0);
    const figures = once.records.flatMap((record) =>
      'measurement' in record ? [record.measurement.throughput.value] : [],
    );
    expect(Math.max(...figures)).toBeLessThan(1000);
    const always = await play({ world: changing(Number.POSITIVE_INFINITY), plan: { maxTrials: 3 } });
    const failed = always.state?.trials.flatMap(({ failure }) => failure ?? []) ?? [];
    expect(failed).toEqual([{ kind: 'config-mismatch', reason: expect.stringContaining('another config') }]);
  });

  it('ends with SERVER_UNREACHABLE when the server stays away, and still tries to restore', async () => {
    const world = new World();
    let calls = 0;
    world.bend = (measurement) => (++calls > 12 ? lost() : measurement);
    world.comesBack = false;
    const { error, records } = await play({ world });
    expect(codeOf(error)).toBe('SERVER_UNREACHABLE');
    expect(world.restores).toBe(1);
    expect(foldStudy(records)).toMatchObject({ restored: { verified: true }, finished: { interrupted: false } });
    expect(foldStudy(records).trials.at(-1)?.failure?.kind).toBe('server-lost');
  });

  it('ends when several trials in a row are not served', async () => {
    const world = new World();
    world.bend = (measurement, config) =>
      config === originalConfig ? measurement : measured(1, 0, Number.NaN, { errorRate: 1 });
    const { error, records } = await play({ world });
    expect(codeOf(error)).toBe('SERVER_FAILED');
    expect(foldStudy(records).counts).toMatchObject({ trials: 4, failed: 3 });
  });

  it('refuses to tune a model that does not serve with its original config', async () => {
    const world = new World();
    const failures = [{ kind: 'status', count: 9, firstMessage: 'unexpected shape' }];
    world.bend = () => measured(1, 0, Number.NaN, { errorRate: 1, failures });
    const { error } = await play({ world });
    expect(error).toMatchObject({ code: 'SERVER_FAILED', message: expect.stringContaining('unexpected shape') });
    expect(world.restores).toBe(1);
  });

  it('ends at once when the server lacks a metric that the goal needs', async () => {
    const goal = goalOf(40, { objectives: [{ metric: 'gpu-memory', weight: 1 }] });
    const { error, records } = await play({ goal });
    expect(error).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringContaining('gpu-memory') });
    expect(foldStudy(records).counts.measurements).toBe(1);
  });

  it('says that the restore failed, and why the run had ended before it', async () => {
    const world = new World();
    world.restoreError = new TrituneError('RESTORE_FAILED', 'it would not load', 'run restore');
    const plain = await play({ world });
    expect(plain.error).toMatchObject({ code: 'RESTORE_FAILED', message: 'it would not load' });
    expect(foldStudy(plain.records)).toMatchObject({
      restored: { how: 'failed', verified: false },
      gain: { best: 11 },
    });
    const both = new World();
    both.restoreError = world.restoreError;
    both.bend = () => lost();
    both.comesBack = false;
    expect((await play({ world: both })).error).toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringContaining('SERVER_UNREACHABLE'),
    });
  });

  it('restores although whoever watches throws, and says so in the end', async () => {
    const world = new World();
    const controller = new AbortController();
    const { type: _, at: __, ...study } = studyStarted(goalOf(40));
    const plan = {
      study,
      maxTrials: 2,
      timeBudgetMs: Number.POSITIVE_INFINITY,
      finalRounds: 1,
      allowForeignTraffic: false,
      earlier: [],
    };
    const parts = {
      adapter: adapterOf({ ...world, build: space.build }),
      sampler: everyCandidate(space),
      journal: { append: async () => undefined },
      clock: world.clock,
    };
    const run = tune(
      plan,
      parts,
      () => {
        throw new Error('the screen broke');
      },
      controller.signal,
    );
    await expect(run).rejects.toMatchObject({ code: 'INTERNAL', message: 'the screen broke' });
    expect(world.served).toBe(originalConfig);
  });
});

describe('traffic of others', () => {
  const withGuests = (from: number): World => {
    const world = new World();
    let measurements = 0;
    world.bend = (measurement) => (measurements++ < from ? measurement : { ...measurement, foreignRequests: 70 });
    return world;
  };

  it('ends the run, with the model put back and what was found before kept', async () => {
    // In the baseline, in the search, and in the final, which begins after some fifty measurements.
    const whole = (await play({})).records.filter(({ type }) => type === 'trial-measured').length;
    for (const [from, recorded] of [
      [0, 0],
      [9, 9],
      // The final begins with the last measurement of the search.
      [whole + 1, whole + 2],
    ] as const) {
      const world = withGuests(from);
      const { error, records } = await play({ world });
      expect(codeOf(error)).toBe('FOREIGN_TRAFFIC');
      expect(records.filter(({ type }) => type === 'trial-measured' || type === 'final-measured').length).toBe(
        recorded,
      );
      expect(records.at(-1)).toMatchObject({
        type: 'study-finished',
        stopReason: expect.stringMatching(/^FOREIGN_TRAFFIC: .*70/),
      });
      expect(world.served).toBe(originalConfig);
    }
  });

  it('is borne when that is asked for', async () => {
    const { error, state } = await play({ world: withGuests(3), plan: { allowForeignTraffic: true } });
    expect(error).toBeNull();
    expect(state?.gain).not.toBeNull();
  });
});

describe('an interrupted run', () => {
  it('restores and keeps what it has, whenever it is interrupted', async () => {
    const { events } = await play({ plan: { maxTrials: 4 } });
    for (let abortAt = 1; abortAt <= events.length; abortAt++) {
      const world = new World();
      const { state, error, records } = await play({ world, abortAt, plan: { maxTrials: 4 } });
      expect(error).toBeNull();
      expect(world.served).toBe(originalConfig);
      expect(world.restores).toBe(1);
      expect(state?.restored?.verified).toBe(true);
      expect(records.at(-1)?.type).toBe('study-finished');
    }
  });
});

describe('a resumed run', () => {
  it('repeats no finished trial and comes to the same best, wherever the first run ended', async () => {
    const first = new World();
    first.refuse = refuseAbove(3);
    const whole = await play({ world: first, plan: { maxTrials: 6 } });
    const cut = whole.records.findIndex((record) => record.type === 'model-restored');
    for (let length = 1; length <= cut; length++) {
      const earlier = whole.records.slice(0, length);
      const before = foldStudy(earlier);
      const world = new World();
      world.refuse = refuseAbove(3);
      const { state, error, records } = await play({ world, plan: { earlier, maxTrials: 6 } });
      expect(error).toBeNull();
      const started = records.slice(length).filter((record) => record.type === 'trial-started');
      const finished = new Set(before.trials.map((trial) => trial.number));
      const again = started.filter((record) => finished.has(record.trial));
      // The original config alone is visited again, when the search is over.
      expect(again.every((record) => record.role === 'baseline')).toBe(true);
      expect(again.length).toBeLessThanOrEqual(1);
      expect(state?.best?.candidate.fingerprint).toBe(whole.state?.best?.candidate.fingerprint);
      expect(state?.trials.map((trial) => trial.candidate.fingerprint)).toEqual(
        whole.state?.trials.map((trial) => trial.candidate.fingerprint),
      );
      expect(state?.gain?.best).toBe(whole.state?.gain?.best);
    }
  });

  it('plays on where the time budget ended during the final, and repeats none of its measurements', async () => {
    const whole = await play({ plan: { maxTrials: 3 } });
    const finals = whole.state?.finals ?? [];
    const [, second] = finals.filter(({ round }, at) => round !== finals[at - 1]?.round);
    const at = whole.records.findIndex((record) => record.type === 'final-measured' && record.round === second?.round);
    // A run that had time for one round decides on that.
    const world = new World();
    const cut = await play({ world, plan: { earlier: whole.records.slice(0, at), maxTrials: 3, timeBudgetMs: 1 } });
    expect(cut.state?.finished?.notes).toEqual(['there was no time for all rounds of the final']);
    expect([cut.state?.gain === null, cut.state?.finals.length]).toEqual([
      false,
      finals.filter(({ round }) => round === finals[0]?.round).length,
    ]);
    // A series takes it up again, with the model that it is of.
    expect([whole, cut].map(({ state }) => state && isDone(state, true))).toEqual([true, false]);
    // With as little time it stays at that; with more it comes to what the whole run came to.
    const again = await play({ plan: { earlier: cut.records, maxTrials: 3, timeBudgetMs: 1 } });
    expect(again.state?.gain).toMatchObject({ best: cut.state?.gain?.best });
    expect(again.state?.finals).toEqual(cut.state?.finals);
    const { state, error } = await play({ plan: { earlier: cut.records, maxTrials: 3 } });
    expect(error).toBeNull();
    expect(state?.finals.length).toBeGreaterThanOrEqual(finals.length);
    expect(state?.finals.slice(0, cut.state?.finals.length)).toEqual(cut.state?.finals);
    expect(state?.gain?.best).toBe(whole.state?.gain?.best);
    expect(state?.finished?.stopReason).toBe('the search was already over');
  });

  describe('when others have the CPU of the load generator', () => {
    const client = {
      cpuUsPerRequest: 20,
      eventLoopDelayMs: 1,
      bound: true,
      starved: true,
      reason: 'it was overloaded',
    };
    /** In these measurements of all, by their order. */
    const playStarved = async (isStarved: (index: number) => boolean, plan = {}) => {
      const world = new World();
      let index = 0;
      world.bend = (measurement) => (isStarved(index++) ? { ...measurement, client } : measurement);
      const { state, events, records } = await play({ world, plan: { maxTrials: 2, ...plan } });
      const kept = records.filter(({ type }) => type === 'trial-measured' || type === 'final-measured').length;
      return { state, kept, measured: index, events: events.filter(({ type }) => type === 'starved') };
    };

    it('measures once more, and takes what that gives', async () => {
      const calm = await playStarved(() => false);
      const { state, kept, measured, events } = await playStarved((index) => index === 0 || index === 4);
      expect(events).toEqual([
        { type: 'starved', trial: 0, level: expect.anything(), reason: 'it was overloaded' },
        expect.objectContaining({ type: 'starved' }),
      ]);
      expect(measured).toBe(calm.measured + 2);
      expect(kept).toBe(calm.kept);
      expect(state?.trials).toEqual(calm.state?.trials);
    });

    it('holds against nobody but the machine what happens twice: the trial fails', async () => {
      const { state, kept, measured } = await playStarved(() => true);
      expect(state?.trials.map(({ failure }) => failure?.kind)).toEqual(state?.trials.map(() => 'client-bound'));
      expect(measured).toBe(2 * kept);
    });

    it('does not where the time is over, nor where the load generator is as fast as it can be', async () => {
      const late = await playStarved(() => true, { timeBudgetMs: 1 });
      expect(late.events).toEqual([]);
      const world = new World();
      world.bend = (measurement) => ({ ...measurement, client: { ...client, starved: false } });
      const { events } = await play({ world, plan: { maxTrials: 2 } });
      expect(events.some(({ type }) => type === 'starved')).toBe(false);
    });
  });

  it('restores and ends when the study was finished already', async () => {
    const { records } = await play({ plan: { maxTrials: 2 } });
    const world = new World();
    const { state } = await play({ world, plan: { earlier: records, maxTrials: 2 } });
    expect(state?.finished?.stopReason).toBe('the study was already finished');
    expect(world.loads).toEqual([]);
    expect(world.restores).toBe(1);
  });
});
