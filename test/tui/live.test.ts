import { describe, expect, it } from 'vitest';
import type { LiveModel } from '#explain/live-view.ts';
import { liveRows } from '#tui/live-rows.ts';
import { findSelected, firstChoice, type LiveView, moveChoice } from '#tui/live-view.ts';
import { measureWidth } from '#tui/rows.ts';
import { anExplanation } from '../explain/documents.ts';

const model = (name: string, perSecond: number): LiveModel => ({
  name,
  perSecond,
  failedPerSecond: 0,
  course: Array.from({ length: 60 }, (_, index) => (perSecond * index) / 60),
  timesMs: perSecond === 0 ? null : { queue: 13.8, execution: 3.6, other: 0.1 },
  meanBatch: 2.64,
  busy: 0.106,
  instances: 1,
});

const view: LiveView = {
  server: 'triton 2.51.0',
  url: 'gpu-box:8001',
  budget: anExplanation.budget,
  seconds: 130,
  models: [model('detector', 80.3), model('classifier', 0)],
  explanation: anExplanation.models[0] ?? null,
  note: null,
};

const textOf = (each: LiveView, choice = firstChoice, size = { columns: 120, rows: 40 }): string =>
  liveRows(each, choice, size)
    .map((line) => line.map(({ text }) => text).join(''))
    .join('\n');

describe('the page of a live service', () => {
  it('shows the models, the busiest first, and why the selected one is slow', () => {
    const text = textOf(view);
    expect(text).toContain('triton 2.51.0 at gpu-box:8001');
    expect(text).toContain('looking for 2 min 10 s');
    expect(text).toMatch(/› detector +80\.3 .*▁▂.*█ +13\.8 +3\.6 +2\.64 +0\.106\/1/);
    expect(text).toMatch(/ {2}classifier +0 /);
    expect(text).toContain('▒▒▒▒');
    expect(text).toContain('(delay-never-fills, sure)');
    expect(text).toContain('ceiling    2,757 requests/s with p99 within 50 ms (1,102 to 4,304)');
    expect(text).toContain('q quit, and print what was seen  ↑↓ model  p pause');
  });

  it.each([
    [80, 24],
    [120, 40],
    [60, 12],
  ])('keeps its keys in sight on %i × %i', (columns, rows) => {
    const lines = liveRows(view, firstChoice, { columns, rows });
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(
      lines
        .at(-1)
        ?.map(({ text }) => text)
        .join(''),
    ).toContain('q quit');
    if (columns >= 80) expect(Math.max(...lines.map(measureWidth))).toBeLessThanOrEqual(columns);
  });

  it('follows the busiest model until one is chosen, which stays chosen when others get busier', () => {
    expect(findSelected(view, firstChoice)).toBe('detector');
    const second = moveChoice(view, firstChoice, 1);
    expect(second.model).toBe('classifier');
    expect(moveChoice(view, second, 1)).toEqual(second);
    expect(moveChoice(view, second, -5).model).toBe('detector');
    expect(findSelected({ models: [model('third', 99), ...view.models] }, second)).toBe('classifier');
    expect(findSelected({ models: [] }, second)).toBeNull();
    expect(textOf(view, second)).toContain('looking …');
    expect(textOf({ ...view, note: 'no request yet' }, second)).toContain('no request yet');
  });

  it('shows many models around the selected one', () => {
    const models = Array.from({ length: 100 }, (_, index) => model(`m${index}`, 100 - index));
    const text = textOf({ ...view, models }, { model: 'm50', isPaused: true });
    expect(text).toContain('› m50');
    expect(text).toContain('paused');
    expect(text).not.toContain('m99');
  });

  it('takes nothing of a server for control characters', () => {
    const hostile = 'a\u001b[2J\u202e\n漢';
    const text = textOf({ ...view, server: hostile, models: [model(hostile, 1)], note: hostile });
    for (const character of ['\u001b', '\u202e', '漢']) expect(text).not.toContain(character);
  });
});
