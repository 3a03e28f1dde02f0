import { describe, expect, it } from 'vitest';
import { foldStudy } from '../../src/study/fold.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { gainSoFar } from '../../src/tui/figures.ts';
import { initialView, reduce, type ViewState, viewOf } from '../../src/tui/state.ts';
import type { TunerEvent } from '../../src/tuner/seams.ts';
import { goalOf } from '../study/builders.ts';
import { midRun, recordedRun, upTo } from './recorded.ts';

const events = await recordedRun();
const viewAfter = (some: readonly TunerEvent[], view = initialView): ViewState => some.reduce(reduce, view);
const records = events.filter((event): event is StudyRecord => 'at' in event);

describe('the view of a run', () => {
  it('is the fold of its records at the end, and changes no state that it is given', () => {
    const states: ViewState[] = [initialView];
    for (const event of events) {
      const before = states.at(-1) as ViewState;
      const frozen = JSON.stringify(before);
      states.push(reduce(before, event));
      expect(JSON.stringify(before)).toBe(frozen);
    }
    const last = states.at(-1) as ViewState;
    expect(JSON.stringify(last.study)).toBe(JSON.stringify(foldStudy(records)));
    expect(last.activity).toEqual({ kind: 'finished' });
  });

  it('knows what is done at the moment', () => {
    let view = initialView;
    const kinds = events.map((event) => {
      view = reduce(view, event);
      return view.activity.kind;
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

  it('knows the limits of the search', () => {
    expect(viewAfter(events).limits).toEqual({ maxTrials: 6, timeBudgetSeconds: null });
  });

  it('begins with what an earlier run wrote down', () => {
    const seen = viewOf(records.slice(0, -1));
    expect(seen.study?.trials).toHaveLength(7);
    const at = '2026-01-01T02:00:00.000Z';
    expect(reduce(seen, { type: 'study-paused', at }).isPaused).toBe(true);
    expect(
      viewAfter(
        [
          { type: 'study-paused', at },
          { type: 'study-continued', at },
        ],
        seen,
      ).isPaused,
    ).toBe(false);
  });

  it('ranks anew at once when the budget changes', () => {
    const mid = viewAfter(midRun(events));
    const changed = reduce(mid, { type: 'goal-changed', at: '2026-01-01T02:00:00.000Z', goal: goalOf(10.5) });
    const latencyOf = ({ study }: ViewState): number => {
      const best = study?.best;
      return best?.measurements[best.chosen ?? 0]?.budgetLatencyMs.value ?? Number.NaN;
    };
    expect(latencyOf(mid)).toBeGreaterThan(10.5);
    expect(latencyOf(changed)).toBeLessThanOrEqual(10.5);
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
