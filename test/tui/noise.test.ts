import { describe, expect, it } from 'vitest';
import { initialInteraction } from '#tui/interaction.ts';
import { noiseRows, standingRows } from '#tui/panels/standing.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import type { Row } from '#tui/rows.ts';
import type { ViewState } from '#tui/state.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';
import { viewAfter } from './recorded.ts';

const at = '2026-01-01T00:00:01.000Z';
const textsOf = (rows: readonly Row[]): string[] =>
  rows.map((row) =>
    row
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );

/** After the first measurement, whose worst window has this p99; or after the whole trial. */
function viewWith(highMs: number, isOver: boolean): ViewState {
  const measurement = measured(1, 250, 4, { windowPercentilesMs: { low: 4, high: highMs } });
  const events: TunerEvent[] = [
    studyStarted(goalOf(8)),
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
    { type: 'trial-measured', at, trial: 0, measurement },
  ];
  const end: TunerEvent = { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null };
  return viewAfter(isOver ? [...events, end] : events);
}

describe('the noise at rest on the screen', () => {
  const quiet =
    'idle       p99 is 4 ms with one request in flight (4 to 5 by window); noise alone uses up 25 % of the headroom to your 8 ms budget';
  const loud =
    'idle       p99 is 4 ms with one request in flight (4 to 9 by window); in a bad window, noise alone exceeds your 8 ms budget';

  it('stands below the first measurement while nothing else is known', () => {
    expect(textsOf(standingRows(viewWith(5, false), 130))).toEqual([
      'the original config is measured first',
      quiet,
      '',
    ]);
    expect(noiseRows(viewWith(5, false), 130)).toEqual([]);
  });

  it('keeps its row later only where the budget feels it, cut to the width', () => {
    expect(noiseRows(viewWith(5, true), 130)).toEqual([]);
    expect(textsOf(noiseRows(viewWith(9, true), 130))).toEqual([loud]);
    const [narrow = ''] = textsOf(noiseRows(viewWith(9, true), 60));
    expect(narrow).toHaveLength(60);
    expect(narrow).toMatch(/^idle +in a bad window, noise alone exceeds your 8 ms.*…$/);
  });

  it('is told of the original config itself, whatever it means', () => {
    const panel = textsOf(trialPanel(viewWith(5, true), initialInteraction, { columns: 60, rows: 30 })).join(' ');
    expect(panel.replace(/\s+/g, ' ')).toContain(quiet.replace(/\s+/g, ' '));
  });
});
