import { describe, expect, it } from 'vitest';
import type { StudyRecord } from '#study/records/records.ts';
import type { TrialQuery } from '#watch/view/trial-search.ts';
import { WatchedStudy } from '#watch/view/watched-study.ts';
import { AT_WORK, momentAfter } from '#watch/view/work-moment.ts';
import { fleetProgress, fleetRecords, head, windowEvent, workFor } from '../support/watched-fleet.ts';

function watched(records: readonly StudyRecord[], nowMs = 0): WatchedStudy {
  const study = new WatchedStudy(head('whole'));
  for (const record of records) study.take(record, nowMs);
  return study;
}

describe('what the page shows of a study', () => {
  it('says who tries what, window by window', async () => {
    const records = await fleetRecords();
    const study = watched(records.slice(0, records.findIndex(({ type }) => type === 'final-measured') - 1));
    const work = workFor('s1', 8, { id: 'trial-8.2', attempt: 2 });
    expect(study.setProgress(fleetProgress([work], { idle: ['s0'], held: ['s0', 's1', 's2'] }))).toBe(true);
    expect(study.setProgress(fleetProgress([work], { idle: ['s0'], held: ['s0', 's1', 's2'] }))).toBe(false);
    const beat = (window: number, throughput: number) =>
      study.beat({ work: work.id, trial: 8, event: windowEvent(3, window, throughput) });
    expect([beat(1, 100), beat(2, 110), beat(2, 110)]).toEqual([true, true, false]);
    const { servers } = study.view(0);
    expect(servers.map(({ server, state }) => [server, state])).toEqual([
      ['s0', 'idle'],
      ['s1', 'measuring'],
      ['s2', 'away'],
    ]);
    expect(servers[1]).toMatchObject({
      what: 'trial 8',
      config: 'instances=2',
      level: 'concurrency 8',
      note: 'attempt 2',
      figures: 'window 2: 110 infer/s, p99 9 ms',
      windows: [100, 110],
    });
    study.setProgress(fleetProgress([work], { idle: ['s0'], held: ['s0', 's1', 's2'], joining: ['s2'] }));
    expect(study.view(0).servers[2]).toMatchObject({ server: 's2', state: 'getting ready' });
    const done = servers.reduce((sum, each) => sum + each.done, 0);
    expect(done).toBe(study.view(0).progress.done);
    // What a server did is forgotten with the work.
    study.setProgress(fleetProgress([], { idle: ['s1'] }));
    study.setProgress(fleetProgress([work]));
    expect(study.view(0).servers.find(({ server }) => server === 's1')).toMatchObject({
      state: 'at work',
      windows: [],
    });
  });

  it('begins windows anew at another level, and says when the load generator was held up', () => {
    const events = [windowEvent(1, 1, 50), windowEvent(1, 2, 60), windowEvent(1, 1, 90, 16)];
    expect(events.reduce(momentAfter, AT_WORK).windows).toMatchObject([{ window: 1, throughput: 90 }]);
    const held = momentAfter(events.slice(0, 2).reduce(momentAfter, AT_WORK), {
      type: 'progress',
      trial: 1,
      level: { mode: 'concurrency', value: 8 },
      progress: { phase: 'void', voidWindows: 1 },
    });
    expect(held).toMatchObject({ state: 'held up', windows: [{ throughput: 50 }, { throughput: 60 }] });
  });

  it('grows with the study: trials, the best, its front, and what failed', async () => {
    const records = await fleetRecords({
      disturb: (outcome) =>
        outcome.work.kind === 'trial' && outcome.work.trial === 2
          ? { kind: 'lost', work: outcome.work, reason: 'its worker\u001b[2J was killed' }
          : outcome,
    });
    const study = new WatchedStudy(head('whole'));
    expect(study.view(0)).toMatchObject({ phase: 'opening', chart: null, servers: [], progress: { done: 0 } });
    expect(study.front).toBeNull();
    let [done, chart] = [0, 0];
    for (const record of records) {
      study.take(record, 0);
      if (record.type !== 'trial-finished') continue;
      const view = study.view(0);
      expect(view.progress.done).toBeGreaterThanOrEqual(done);
      expect(view.trials[0]?.trial).toBe(record.trial);
      if (view.chart !== null) {
        expect(view.chart).toBeGreaterThan(chart);
        chart = view.chart;
      }
      done = view.progress.done;
    }
    const view = study.view(0);
    expect(view.phase).toMatch(/^ended: /);
    expect(view.progress).toMatchObject({ done: 8, failed: 1, share: 1, isRunning: false, secondsLeft: null });
    expect(view.best).toMatch(
      /^trial \d+: [\d,.]+ infer\/s at p99 [\d.]+ ms, concurrency \d+; [\d.]+× the original \(/,
    );
    expect(view.failures).toContainEqual({
      what: 'trial 2',
      server: expect.stringMatching(/^s[01]$/),
      kind: 'server-lost',
      reason: 'lost its server 3 times: its worker [2J was killed',
    });
    expect(study.front?.({ ...paper })).toContain('<svg');
  });

  it('finds trials by words, server and failure, however long ago they ended', async () => {
    const study = watched(
      await fleetRecords({
        maxTrials: 16,
        disturb: (outcome) =>
          outcome.work.kind === 'trial' && outcome.work.trial === 2
            ? { kind: 'lost', work: outcome.work, reason: 'its worker was killed' }
            : outcome,
      }),
    );
    const find = (asked: Partial<TrialQuery>) => study.find({ words: '', server: '', failure: '', ...asked }, 0);
    const all = find({});
    expect([all.total, all.matching, all.trials.length]).toEqual([17, 17, 17]);
    expect(study.view(0).trials).toEqual(all.trials.slice(0, 12));
    const [lost] = find({ failure: 'server-lost' }).trials;
    expect(lost).toMatchObject({ trial: 2, standing: 'failed', failure: expect.stringContaining('was killed') });
    expect(study.view(0).trials.some(({ trial }) => trial === 2)).toBe(false);
    for (const asked of [
      { failure: 'any' },
      { words: 'TRIAL 2 failed' },
      { words: 'killed', server: lost?.server ?? '' },
    ])
      expect(find(asked).trials).toEqual([lost]);
    expect(find({ failure: 'out-of-memory' })).toEqual({ total: 17, matching: 0, trials: [] });
    for (const server of ['s0', 's1']) {
      const own = all.trials.filter((each) => each.server === server);
      expect(find({ server }).trials).toEqual(own);
      expect(own.length).toBeGreaterThan(0);
    }
    const [first] = all.trials;
    const setting = first?.config.split(' ')[0] ?? '';
    const alike = all.trials.filter(({ config }) => config.includes(setting));
    expect(find({ words: `${setting.toUpperCase()}  ` }).trials).toEqual(alike);
    expect(find({ words: 'best' }).trials.map(({ standing }) => standing)).toEqual(['best']);
    expect(study.view(0).failureKinds).toContain('server-lost');
  });

  it('tells how far a study with a limit is, and lets its time go on', async () => {
    const all = await fleetRecords();
    const until = all.findIndex((record) => record.type === 'trial-finished' && record.trial === 4);
    const limited = all
      .slice(0, until + 1)
      .map((record) =>
        record.type === 'study-started'
          ? { ...record, spec: { ...record.spec, limits: { ...record.spec.limits, maxTrials: 8 } } }
          : record,
      );
    const study = watched(limited, 1_000);
    const { progress } = study.view(11_000);
    const { done, elapsedSeconds } = progress;
    expect(progress).toMatchObject({ maxTrials: 8, share: done / 8, isRunning: true });
    expect(elapsedSeconds - study.view(1_000).progress.elapsedSeconds).toBeCloseTo(10);
    expect(progress.secondsLeft).toBeCloseTo(((8 - done) * elapsedSeconds) / (done + 1));
    study.head = head('whole', { status: 'terminated' });
    expect(study.view(99_000)).toMatchObject({
      phase: 'terminated',
      progress: { isRunning: false, secondsLeft: null },
    });
  });
});

const paper = { width: 900, height: 420, isNarrow: false, ink: '#777', background: null, isLinked: true };
