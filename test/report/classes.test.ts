import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLines } from '#headless/lines.ts';
import type { ClassFigures } from '#profiler/measurement.ts';
import { decideGate } from '#report/gate/decide.ts';
import { readGateDocument } from '#report/gate/readings.ts';
import { reportHtml } from '#report/report-html.ts';
import { resultsCsv } from '#report/results-csv.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { ViewFold } from '#tui/state.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

const at = '2026-01-01T00:00:01.000Z';
const interval = (value: number) => ({ value, low: value * 0.95, high: value * 1.05 });
const latencyMs = { avg: 5, p50: 4, p90: 8, p95: 9, p99: 10, max: 11, min: 1, std: 2 };

const classOf = (name: string, perSecond: number, share: number): ClassFigures => ({
  name,
  requests: 10 * perSecond,
  failures: 3,
  throughput: interval(perSecond),
  goodput: interval(share * perSecond),
  latencyMs,
  budgetLatencyMs: { percentile: 99, ...interval(10) },
});

const trial = (number: number, config: typeof originalConfig, share: number): StudyRecord[] => [
  {
    type: 'trial-started',
    at,
    trial: number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(config),
  },
  {
    type: 'trial-measured',
    at,
    trial: number,
    measurement: measured(8, 100, 10, {
      level: { mode: 'request-rate', value: 100 },
      goodput: interval(100 * share),
      classes: [classOf('thumb', 75, share), classOf('<photo>', 25, share)],
    }),
  },
  { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
];

const goal = goalOf(null, { objectives: [{ metric: 'goodput', weight: 1 }] });
const records: readonly StudyRecord[] = [
  studyStarted(goal),
  ...trial(0, originalConfig, 0.6),
  ...trial(1, configOf(2, 8), 0.9),
];
const state = foldStudy(records);
const summary = summarize(state, 'journal.jsonl');

describe('a study of tensors with limits and classes', () => {
  it('takes the candidate with the most goodput', () => {
    expect(summary.best).toMatchObject({ trial: 1, goodput: interval(90) });
    expect(summary.best?.classes?.map(({ name, goodput }) => [name, goodput?.value])).toEqual([
      ['thumb', 67.5],
      ['<photo>', 22.5],
    ]);
  });

  it('is read again from its journal, and fits the published form', () => {
    for (const record of records) expect(checkRecord(JSON.parse(JSON.stringify(record)))).toHaveProperty('record');
    const schema = z.fromJSONSchema(summaryJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(JSON.parse(JSON.stringify(summary))).error).toBeUndefined();
  });

  it('has goodput at the end of its table, and classes on its page', () => {
    const [head = '', row = ''] = resultsCsv(state).split('\r\n');
    const cell = (name: string): string | undefined => row.split(',')[head.split(',').indexOf(name)];
    expect([cell('goodput_per_s'), cell('goodput_per_s_low')]).toEqual(['60', '57']);
    expect(head).not.toContain('ttft');
    const page = reportHtml(state, summary, null);
    expect(page).toMatch(/<table id="classes" class="rows">/);
    expect(page).toMatch(/<td[^>]*>&\S+photo&\S+<\/td><td/);
    expect(page).not.toContain('<photo>');
    expect(page).toMatch(/goodput/);
    const plain = records.map((record) => {
      if (record.type !== 'trial-measured') return record;
      const { goodput: _, classes: __, ...measurement } = record.measurement;
      return { ...record, measurement };
    });
    const other = foldStudy([studyStarted(goalOf(null)), ...plain.slice(1)]);
    expect(reportHtml(other, summarize(other, ''), null)).not.toContain('id="classes"');
    expect(resultsCsv(other)).not.toContain('goodput');
  });

  it('says it in lines and on the screen', () => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of records) onEvent(record);
    expect(lines.join('\n')).toContain('goodput 90 req/s');
    const rows = trialPanel(new ViewFold(records).view(), initialInteraction, { columns: 74, rows: 60 });
    expect(rows.map((spans) => spans.map((each) => each.text).join('')).join('\n')).toMatch(/goodput/);
  });

  it('is compared by its goodput, and so is a profile', () => {
    const study = readGateDocument(JSON.stringify(summary), 'summary.json');
    expect(study.readings.map(({ metric }) => metric)).toEqual(['throughput', 'p99 latency', 'goodput']);
    const profile = (share: number) => {
      const told = trial(0, originalConfig, share).find((record) => record.type === 'trial-measured');
      const level = { ...told?.measurement, withinLatencyThreshold: true };
      return readGateDocument(
        JSON.stringify({ schemaVersion: 1, model: 'm', server: { emulated: null }, levels: [level] }),
        'run.json',
      );
    };
    const rule = { tolerance: 0.05, confidence: 0.95, mustSee: 0.1 };
    const verdicts = decideGate([profile(0.9)], [profile(0.5)], rule).comparisons.filter(
      ({ verdict }) => verdict === 'regression',
    );
    expect(verdicts.map(({ before }) => before.metric)).toEqual(['goodput']);
  });
});
