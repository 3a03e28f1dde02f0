import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLines } from '#headless/lines.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { decideGate } from '#report/gate/decide.ts';
import { readGateDocument } from '#report/gate/readings.ts';
import { reportHtml } from '#report/report-html.ts';
import { resultsCsv } from '#report/results-csv.ts';
import { requireMetrics } from '#study/goal/goal.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { ViewFold } from '#tui/state.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';
import { tokensOf } from '../study/token-figures.ts';

const at = '2026-01-01T00:00:01.000Z';
const levels = [1, 2, 4, 8, 16];

const trial = (number: number, config: typeof originalConfig, itlMs: (users: number) => number): StudyRecord[] => [
  {
    type: 'trial-started',
    at,
    trial: number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(config, number === 0 ? {} : { sequences: 2 ** number }),
  },
  ...levels.map((users): StudyRecord => {
    const tokens = tokensOf(users, itlMs(users));
    const seconds = (128 * itlMs(users) + 10 * users) / 1e3;
    const measurement = measured(users, users / seconds, 1e3 * seconds, { tokens });
    return { type: 'trial-measured', at, trial: number, measurement };
  }),
  { type: 'trial-finished', at, trial: number, chosen: 3, feasible: true, failure: null },
];

const goal = goalOf(null, {
  objectives: [{ metric: 'output-token-throughput', weight: 1 }],
  constraints: [{ metric: 'ttft', relation: '<=', value: 400 }],
});
const records: readonly StudyRecord[] = [
  studyStarted(goal),
  ...trial(0, originalConfig, (users) => 10 + 2 * users),
  ...trial(1, configOf(2, 8), (users) => 12 + 0.6 * users),
];
const state = foldStudy(records);
const summary = summarize(state, 'journal.jsonl');

describe('a study of a language model', () => {
  it('has tokens, with their formulas and charts, on its page', () => {
    const page = reportHtml(state, summary, null);
    for (const id of ['tokens-front', 'ttft-vs-load', 'itl-vs-load', 'tpot-vs-load']) {
      expect(page).toContain(`<figure id="${id}">`);
    }
    expect(page).toContain('(end-to-end − TTFT) / (output tokens − 1)');
    expect(page).toMatch(/<th scope="row">TTFT p99, ms<\/th><td>[\d.]+ \([\d.]+ to [\d.]+\)<\/td>/);
    expect(page).toContain('input from the prefix cache');
    const plain = records.map((record) =>
      record.type === 'trial-measured'
        ? { ...record, measurement: { ...record.measurement, tokens: undefined } as unknown as Measurement }
        : record,
    );
    const other = foldStudy([studyStarted(goalOf(null)), ...plain.slice(1)]);
    expect(reportHtml(other, summarize(other, ''), null)).not.toContain('<h2>Tokens</h2>');
  });

  it('has them by level on the screen, and in the lines', () => {
    const fold = new ViewFold(records);
    const rows = trialPanel(fold.view(), initialInteraction, { columns: 74, rows: 60 });
    const text = rows.map((spans) => spans.map((each) => each.text).join('')).join('\n');
    expect(text).toMatch(/tokens: p99 of times, output rates +\n +TTFT +ITL +TPOT +tokens\/s +per user/);
    expect(text).toMatch(/ 16 +320 ms +43\.2 ms +43\.2 ms +741 +46\.3/);
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of records) onEvent(record);
    expect(lines.join('\n')).toContain('TTFT 20 ms, ITL 24 ms, 83.3 tokens/s');
  });

  it('has them in tables, the journal and the summary, and only there', () => {
    const [head = '', row = ''] = resultsCsv(state).split('\r\n');
    const cell = (name: string): string | undefined => row.split(',')[head.split(',').indexOf(name)];
    expect(cell('ttft_p50_ms')).toBe('8');
    expect(cell('itl_budget_ms_high')).toBe('25.200000000000003');
    expect(cell('output_tokens_per_s_per_user')).toBe(`${1000 / 12}`);
    expect(cell('goodput_per_s')).toBe('0.1');
    expect(cell('scheduled_ttft_p50_ms')).toBe('');
    expect(resultsCsv({ trials: [], finals: [] })).not.toContain('ttft');
    for (const record of records) expect(checkRecord(JSON.parse(JSON.stringify(record)))).toHaveProperty('record');
    expect(summary.best?.tokens).toMatchObject({ countedBy: 'usage', cutOff: 3, inputTokens: { mean: 256 } });
    const schema = z.fromJSONSchema(summaryJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(JSON.parse(JSON.stringify(summary))).error).toBeUndefined();
  });

  it('is compared by its tokens', () => {
    const document = (factor: number) => {
      const levelsOf = levels.map((users) => {
        const tokens = tokensOf(users, 10 * factor);
        return { ...measured(users, 10, 100, { tokens }), withinLatencyThreshold: true };
      });
      const text = JSON.stringify({ schemaVersion: 1, model: 'm', server: { emulated: null }, levels: levelsOf });
      return readGateDocument(text, 'run.json');
    };
    const rule = { tolerance: 0.05, confidence: 0.95, mustSee: 0.1 };
    const verdicts = (factor: number): readonly string[] =>
      decideGate([document(1)], [document(factor)], rule)
        .comparisons.filter(({ verdict }) => verdict === 'regression')
        .map(({ before }) => before.metric);
    expect(verdicts(1)).toEqual([]);
    expect(new Set(verdicts(2))).toEqual(new Set(['output-token-throughput', 'p99 ITL', 'p99 TPOT']));
    const study = readGateDocument(JSON.stringify(summary), 'summary.json');
    expect(study.readings.map(({ metric }) => metric)).toEqual([
      ...['throughput', 'p99 latency', 'output-token-throughput', 'goodput'],
    ]);
  });

  it('is refused where another model is measured, with the reason', () => {
    const judge = (more: Partial<Measurement>, metric = 'ttft') =>
      requireMetrics(
        measured(1, 1, 1, more),
        toCandidate(originalConfig),
        goalOf(8, { constraints: [{ metric, relation: '<=', value: 1 }] }),
      );
    expect(() => judge({})).toThrow(/ttft is about the tokens of a language model, and this one is asked with tensors/);
    const { goodput: _, ...tokens } = tokensOf(1, 10);
    expect(() => judge({ tokens }, 'goodput')).toThrow(/goodput has no limits to be counted by/);
    expect(() => judge({ tokens }, 'output-tokens-per-gpu')).toThrow(/needs GPU metrics/);
  });
});
