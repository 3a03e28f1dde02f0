import { describe, expect, it } from 'vitest';
import { createLines } from '#headless/lines.ts';
import { reportHtml } from '#report/report-html.ts';
import { workloadsCsv } from '#report/write-run.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import { summarize } from '#study/summary/summary.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { workloadRows } from '#tui/panels/workloads.ts';
import { ViewFold } from '#tui/state.ts';
import { goalOf, measured } from '../study/builders.ts';
import { workloadRecords } from '../support/workload-records.ts';

const rowsOf = (html: string, id: string): string[][] => {
  const table = html.slice(html.indexOf(`<table id="${id}"`)).split('</table>')[0] ?? '';
  return [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => cell),
  );
};

describe('a study over two workloads', () => {
  const state = foldStudy(workloadRecords());
  const best = state.best?.measurements[0];

  it('stands in a journal', () => {
    for (const record of workloadRecords()) {
      const checked = checkRecord(JSON.parse(JSON.stringify(record)));
      expect('record' in checked && checked.record).toEqual(record);
    }
  });

  it('has in its report each candidate under each workload, and which decides', () => {
    const html = reportHtml(state, summarize(state, 'journal.jsonl'), null);
    expect(rowsOf(html, 'workloads').map((row) => row.filter((cell) => !/infer|%|\(/.test(cell)))).toEqual([
      ['trial', 'assignment', 'level', 'workload', 'requests/s', 'p99, ms', 'failed', ''],
      ['0', 'the original config', '100', 'steady', '100', ''],
      ['burst', '50', 'decides'],
      ['1 best', 'instances=3', '200', 'steady', '200', ''],
      ['burst', '100', 'decides'],
    ]);
    expect(html).toContain('its figures are for the worst of each figure');
  });

  it('has a row for each measurement under each workload in its table', () => {
    const [head, ...rows] = (workloadsCsv(state) ?? '').trim().split('\n');
    expect(head?.startsWith('trial,final_round,level,workload,weight,decides,load_value')).toBe(true);
    expect(rows.map((row) => row.split(',').slice(0, 7).join(' '))).toEqual([
      '0  100 steady 3 false 100',
      '0  100 burst 1 true 50',
      '1  200 steady 3 false 200',
      '1  200 burst 1 true 100',
    ]);
    expect(workloadsCsv(foldStudy(workloadRecords().slice(0, 1)))).toBeNull();
  });

  it('has in its summary the figures of the best under each', () => {
    const summary = summarize(state, 'journal.jsonl');
    expect(summary.workloads?.rule).toBe('worst');
    expect(summary.best?.workloads).toMatchObject({
      steady: { load: { value: 200 }, budgetLatencyMs: 30, goodput: 180, decides: false },
      burst: { load: { value: 100 }, budgetLatencyMs: 50, goodput: 90, decides: true },
    });
  });

  it('has a row for each on the screen: under the best, and in the panel of a trial', () => {
    const view = new ViewFold(workloadRecords()).view();
    const textOf = (rows: ReturnType<typeof workloadRows>): string[] =>
      rows.map((spans) =>
        spans
          .map(({ text }) => text)
          .join('')
          .trimEnd(),
      );
    expect(textOf(workloadRows(view, 80))).toEqual([
      'workloads  steady    200/s     200     30 ms  180/s good',
      '           burst     100/s     100     50 ms  90/s good ← decides',
    ]);
    const panel = textOf(trialPanel(view, initialInteraction, { columns: 60, rows: 40 }));
    const head = panel.findIndex((line) => line.includes('by workload'));
    expect(panel[head + 2]).toMatch(/^ {2}burst +100\/s +100 +50 ms .*← decides$/);
  });

  it('says in its lines what it is for, and what each level gave under each', () => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of workloadRecords()) onEvent(record);
    expect(lines.slice(2, 5)).toEqual([
      '2 workloads, combined by the worst of each figure',
      '    steady: passes of 20 s',
      "    burst: passes of 30 s, 0.5 times the level's rate",
    ]);
    expect(lines.filter((line) => line.includes('burst: 100 requests/s'))).toEqual([
      expect.stringMatching(/within budget.*← decides$/),
    ]);
  });

  it('decides by the budget, without one by the first objective, and by a mean not at all', () => {
    const candidate = state.best?.candidate as NonNullable<typeof state.best>['candidate'];
    const decides = (goal: ReturnType<typeof goalOf>, rule: string) =>
      decidingWorkload(best as NonNullable<typeof best>, candidate, goal, { rule })?.workload;
    expect(decides(goalOf(56), 'worst')).toBe('burst');
    expect(decides(goalOf(56), 'quantile:0.75')).toBe('steady');
    expect(decides(goalOf(56), 'mean')).toBeUndefined();
    const slowest = goalOf(null, { objectives: [{ metric: 'latency', weight: 1 }] });
    expect(decides(slowest, 'worst')).toBe('burst');
    expect(decidingWorkload(measured(1, 10, 5), candidate, goalOf(56), { rule: 'worst' })).toBeNull();
  });
});
