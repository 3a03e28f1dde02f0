import { describe, expect, it, vi } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { gainSoFar } from '#study/final/gain-so-far.ts';
import { foldStudy, StudyFold } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { progressRows } from '#tui/panels/progress.ts';
import { ViewFold, type ViewState } from '#tui/state.ts';
import { Store } from '#tui/store.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { Steering } from '#tuner/steering.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from '../study/builders.ts';
import { midRun, recordedRun, upTo, viewAfter, withServer } from './recorded.ts';

const events = await recordedRun();
const records = events.filter((event): event is StudyRecord => 'at' in event);

/** The records of a study with so many trials, of which a few are better than all before. */
function longStudy(trials: number, told = (measurement: Measurement, _: ModelConfig) => measurement): StudyRecord[] {
  const at = '2026-01-01T00:00:00.000Z';
  return [
    studyStarted(goalOf(40)),
    ...Array.from({ length: trials }, (_, trial): StudyRecord[] => {
      const config = configOf(1 + (trial % 8), 1 + (trial % 5));
      const role = trial === 0 ? 'baseline' : 'search';
      const measurement = told(measured(4, 100 + ((trial * 37) % 97), 12), config);
      return [
        { type: 'trial-started', at, trial, role, candidate: toCandidate(config, { count: trial % 8 }) },
        { type: 'trial-applied', at, trial, change: 'full', loadMs: 900 },
        { type: 'trial-measured', at, trial, measurement },
        { type: 'trial-finished', at, trial, chosen: 0, feasible: true, failure: null },
      ];
    }).flat(),
  ];
}

describe('the view of a run', () => {
  it('is the fold of its records at every moment, and changes no view that it gave', () => {
    const fold = new ViewFold();
    const given: { readonly view: ViewState; readonly frozen: string }[] = [];
    const seen: StudyRecord[] = [];
    for (const event of events) {
      fold.add(event);
      if ('at' in event) seen.push(event);
      const view = fold.view();
      expect(fold.view()).toBe(view);
      expect(JSON.stringify(view.study)).toBe(JSON.stringify(foldStudy(seen)));
      given.push({ view, frozen: JSON.stringify(view) });
    }
    for (const { view, frozen } of given) expect(JSON.stringify(view)).toBe(frozen);
    expect(fold.view().activity).toEqual({ kind: 'finished' });
  });

  it('takes each record once, and works the study out only for frames, however many trials there are', () => {
    const all = longStudy(5_000);
    const [add, state] = [vi.spyOn(StudyFold.prototype, 'add'), vi.spyOn(StudyFold.prototype, 'state')];
    const store = new Store(new ViewFold(), {
      commands: null,
      interrupt: () => undefined,
      exportConfig: async () => '',
    });
    try {
      let frames = 0;
      store.subscribe(() => {
        frames++;
        store.scene();
      });
      for (const [index, record] of all.entries()) {
        store.onEvent(record);
        if (index % 4_000 === 0) store.flush();
      }
      store.flush();
      expect(add).toHaveBeenCalledTimes(all.length);
      expect(state.mock.calls.length).toBeLessThanOrEqual(frames);
      expect(frames).toBeLessThan(20);
      expect(store.scene().view.study?.trials).toHaveLength(5_000);
      const before = store.scene().view.study;
      store.onCommand({ name: 'sort', step: 1 });
      store.onCommand({ name: 'move', by: 1 });
      expect(store.scene().view.study).toBe(before);
    } finally {
      store.close();
      add.mockRestore();
      state.mockRestore();
    }
  });

  it('draws nothing while time stands still, and each second while it goes on', () => {
    vi.useFakeTimers();
    const nothing = () => undefined;
    const steering = new Steering();
    const reach = { commands: steering, interrupt: nothing, exportConfig: async () => '' };
    const store = new Store(new ViewFold(), reach, () => Date.now());
    try {
      let frames = 0;
      store.subscribe(() => frames++);
      const framesIn = (seconds: number): number => {
        const before = frames;
        vi.advanceTimersByTime(seconds * 1e3);
        return frames - before;
      };
      for (const record of longStudy(2)) store.onEvent(record);
      framesIn(1);
      expect(framesIn(10)).toBe(10);
      store.onEvent({ type: 'study-paused', at: '2026-01-01T00:00:10.000Z' });
      framesIn(1);
      expect(framesIn(60)).toBe(0);
      // A notice comes, and is taken away again.
      store.tell('told');
      expect(framesIn(1)).toBe(1);
      expect(framesIn(60)).toBe(1);
    } finally {
      store.close();
      vi.useRealTimers();
    }
  });

  it('predicts the best again when it changes, and now and then as trials come', () => {
    const fold = new ViewFold();
    const predictions = new Set<unknown>();
    const bests = new Set<unknown>();
    for (const record of longStudy(60, withServer)) {
      fold.add(record);
      const { predicted, study } = fold.view();
      if (predicted) predictions.add(predicted);
      bests.add(study?.best?.number);
    }
    expect(predictions.size).toBeGreaterThan(bests.size);
    // 1.25 to the power of 19 is more than 60; the first few come trial by trial.
    expect(predictions.size).toBeLessThan(bests.size + 22);
    // The speed of the machine is found anew with each measurement.
  }, 90_000);

  it('knows what is done at the moment', () => {
    const fold = new ViewFold();
    const kinds = events.map((event) => {
      fold.add(event);
      return fold.view().activity.kind;
    });
    const changes = kinds.filter((kind, index) => kind !== kinds[index - 1]);
    expect(changes.slice(0, 5)).toEqual(['choosing', 'loading', 'warming', 'measuring', 'warming']);
    expect(changes.slice(-2)).toEqual(['restoring', 'finished']);
    expect(viewAfter(midRun(events)).activity).toMatchObject({
      kind: 'measuring',
      trial: 5,
      window: 2,
      throughput: 95.2,
    });
  });

  it('says why a level is measured once more, on a narrow screen too', () => {
    const level = { mode: 'concurrency', value: 160 } as const;
    const view = viewAfter([...midRun(events), { type: 'starved', trial: 5, level, reason: 'it was overloaded' }]);
    const lines = progressRows(view, initialInteraction, 10, 80).map((spans) => spans.map(({ text }) => text).join(''));
    expect(lines.join('\n')).toMatch(/trial 5: measuring concurrency 160 again +other processes used the CPU/);
  });

  it('says that it waits for a server that went away', () => {
    const away = { type: 'server-away', reason: 'connection refused', limitMs: 20_000 } as const;
    const rows = progressRows(viewAfter([...midRun(events), away]), initialInteraction, 10, 80);
    const text = rows.map((spans) => spans.map((span) => span.text).join('')).join('\n');
    expect(text).toMatch(/the server is away: waiting for it +connection refused/);
  });

  it('has the figures of each model while several are measured', () => {
    const front = (model: string, throughput: number, latencyMs: number) => ({ model, throughput, latencyMs });
    const last = midRun(events).findLast((event) => event.type === 'progress');
    if (last?.progress.phase !== 'window') throw new Error('there is no progress');
    const progress = {
      ...last.progress,
      throughput: 640,
      latencyMs: 34,
      fronts: [front('a', 400, 12), front('b', 240, 34)],
    };
    const rows = progressRows(viewAfter([...midRun(events), { ...last, progress }]), initialInteraction, 10, 160);
    const lines = rows.map((spans) => spans.map(({ text }) => text).join(''));
    expect(lines.join('\n')).toContain('640 infer/s, p99 34 ms (a 400, 12 ms; b 240, 34 ms)');
  });

  it('knows the limits of the search', () => {
    expect(viewAfter(events).limits).toEqual({ maxTrials: 6, timeBudgetSeconds: null, usualSeconds: null });
  });

  it('begins with what an earlier run wrote down', () => {
    const fold = new ViewFold(records.slice(0, -1));
    expect(fold.view().study?.trials).toHaveLength(7);
    expect(fold.view().activity).toEqual({ kind: 'starting' });
    const at = '2026-01-01T02:00:00.000Z';
    fold.add({ type: 'study-paused', at });
    expect(fold.view().isPaused).toBe(true);
    fold.add({ type: 'study-continued', at });
    expect(fold.view().isPaused).toBe(false);
  });

  it('ranks anew at once when the budget changes', () => {
    const mid = viewAfter(midRun(events));
    const change: TunerEvent = { type: 'goal-changed', at: '2026-01-01T02:00:00.000Z', goal: goalOf(10.5) };
    const changed = viewAfter([...midRun(events), change]);
    const latencyOf = ({ study }: ViewState): number => {
      const best = study?.best;
      return best?.measurements[best.chosen ?? 0]?.budgetLatencyMs.value ?? Number.NaN;
    };
    expect(latencyOf(mid)).toBeGreaterThan(10.5);
    expect(latencyOf(changed)).toBeLessThanOrEqual(10.5);
  });

  it('hopes nothing of a trial that a person asked for', () => {
    const proposed: TunerEvent = { type: 'proposed', assignment: {}, expectedGain: 0.2, chance: 0.9, foreseen: [] };
    const start = records.find((record) => record.type === 'trial-started' && record.trial === 1) as StudyRecord;
    const started = upTo(events, (event) => event.type === 'trial-finished' && event.trial === 0);
    expect(viewAfter([...started, proposed, start]).expectedGain).toBe(0.2);
    expect(viewAfter([...started, proposed, { ...start, requested: true } as StudyRecord]).expectedGain).toBeNull();
  });

  it('says how much better the best is before the final, and by the final after it', () => {
    const before = viewAfter(upTo(events, (event) => event.type === 'trial-finished' && event.trial === 5));
    const gain = before.study && gainSoFar(before.study);
    expect(gain).toMatchObject({ isFinal: false });
    expect(gain?.low).toBeLessThan(gain?.value ?? 0);
    const { study } = viewAfter(events);
    expect(study && gainSoFar(study)).toMatchObject({ ...study?.gain?.gain, isFinal: true });
  });
});
