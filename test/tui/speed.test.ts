import { describe, expect, it } from 'vitest';
import { frame } from '#tui/frame.ts';
import { initialInteraction } from '#tui/interaction.ts';
import type { Size } from '#tui/rows.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { offlineStudy, slowerLater } from '../support/drifting-study.ts';
import { upTo, viewAfter } from './recorded.ts';

/** The screen as lines of text. */
const screenAfter = (events: readonly TunerEvent[], size: Size): readonly string[] =>
  frame(
    {
      view: viewAfter(events),
      interaction: initialInteraction,
      abilities: { phase: 'live', canExport: true },
      notice: null,
      elapsedSeconds: 0,
    },
    size,
  ).map((row) => row.map(({ text }) => text).join(''));

const wide = { columns: 200, rows: 60 };

describe('the screen of a study whose machine gets slower', () => {
  it('says so from the change on', async () => {
    const { events } = await offlineStudy(slowerLater);
    const until = upTo(events, ({ type }) => type === 'speed-changed');
    const before = until.slice(0, -2);
    expect(screenAfter(before, wide).some((line) => line.startsWith('speed '))).toBe(false);
    const line = screenAfter(until, wide).find((each) => each.startsWith('speed '));
    expect(line).toMatch(/^speed +the machine is running at \d\d % of its initial speed; comparisons are normalised/);
  });

  it('says at the end how far it went, and how well the best keeps the budget', async () => {
    const { events } = await offlineStudy(slowerLater);
    const lines = screenAfter(events, wide);
    expect(lines.find((line) => line.startsWith('speed '))).toMatch(
      /^speed +\d\d % to 1\d\d % of the initial speed; comparisons are normalised to the usual one, \d+ %/,
    );
    expect(lines.find((line) => line.startsWith('level '))).toMatch(/^level +.*\d+ % likely, \d+ % headroom/);
    const low = screenAfter(events, { columns: 80, rows: 25 });
    expect(low.find((line) => line.startsWith('level '))).toMatch(
      /^level +.* % likely, .*; 90 % likely up to \d+, 99 % to /,
    );
  });

  it('says nothing of a steady one', async () => {
    const { events } = await offlineStudy();
    for (const size of [wide, { columns: 80, rows: 24 }])
      expect(screenAfter(events, size).some((line) => line.startsWith('speed '))).toBe(false);
  });
});
