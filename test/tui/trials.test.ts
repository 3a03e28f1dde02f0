import { describe, expect, it } from 'vitest';
import { initialInteraction } from '#tui/interaction.ts';
import { trialsPanel } from '#tui/panels/trials.ts';
import { ViewFold } from '#tui/state.ts';
import { columnsFor } from '#tui/table-columns.ts';
import { type Served, served, studyOf } from '../study/explained.ts';

const of = (level: number, throughput: number, p99Ms: number): Served => ({
  level,
  throughput,
  p99Ms,
  queueMs: 1,
  computeMs: 2,
  outsideMs: 0,
});

/** The table of a study with a trial for each. */
function tableOf(columns: number, ...trials: Served[]): readonly string[] {
  const study = studyOf(trials.map((each) => ({ assignment: { instances: 4 }, measurements: [served(each)] })));
  const rows = trialsPanel({ ...new ViewFold().view(), study }, initialInteraction, {
    columns,
    rows: trials.length + 2,
  });
  return rows.map((line) => line.map(({ text }) => text).join(''));
}

describe('the table of trials', () => {
  it.each([48, 60, 84])('keeps the columns of large figures apart at %i columns', (columns) => {
    const [, head, small, large] = tableOf(columns, of(2, 140, 14.3), of(1024, 1_924_802, 123_456));
    expect(large).toMatch(/ 1,924,802 +123,456 +1,024 {2}/);
    expect(small).toMatch(/ 140 +14\.3 +2 {2}/);
    // Each figure ends below the end of its column's name.
    const endOf = (line: string | undefined, text: string) => (line?.indexOf(text) ?? 0) + text.length;
    expect([' 140', '14.3', ' 2 '].map((text) => endOf(small, text.trimEnd()))).toEqual(
      ['infer/s', 'p99 ms', ' at'].map((text) => endOf(head, text)),
    );
    expect(['1,924,802', '123,456', '1,024'].map((text) => endOf(large, text))).toEqual(
      ['infer/s', 'p99 ms', ' at'].map((text) => endOf(head, text)),
    );
  });
});

describe('the columns of parameters', () => {
  const varied = (
    [
      ['queue_delay_us', '5000', 8],
      ['preferred_batch_size', '[8,16]', 9],
      ['cuda_graphs', 'false', 8],
      ['eager_batching', 'false', 8],
      ['instances', '4', 8],
    ] as const
  ).map(([parameter, { length: longest }, weight]) => ({ name: parameter, model: '', parameter, longest, weight }));
  const headers = (room: number) => columnsFor(varied, room).columns.map(({ header }) => header);

  it('cut no more of a name than they must', () => {
    const whole = varied.map(({ parameter }) => parameter);
    expect(headers(80)).toEqual(whole);
    // No wider than their values.
    expect(headers(28)).toEqual(['queu', 'prefer', 'cuda', 'eager', 'ins']);
    for (let room = 0; room < 90; room++) {
      const { columns, hidden } = columnsFor(varied, room);
      const width = columns.reduce((sum, column) => sum + column.width, 0);
      expect(width).toBeLessThanOrEqual(Math.max(0, room - (hidden > 0 ? 3 : 0)));
      expect(columns.length + hidden).toBe(varied.length);
    }
  });

  it('leave out the widest of equal weight first', () => {
    expect(columnsFor(varied, 14)).toMatchObject({
      columns: [{ parameter: 'preferred_batch_size' }, { parameter: 'instances' }],
      hidden: 3,
    });
  });
});
