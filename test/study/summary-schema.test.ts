import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { rankModels } from '#study/summary/rank-models.ts';
import { toEntry } from '#study/summary/series-summary.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { studyOfMany } from '../report/studies.ts';

const published = resolve(import.meta.dirname, '../../docs/summary.schema.json');

const schema = z.fromJSONSchema(
  JSON.parse(await readFile(published, 'utf8')) as Parameters<typeof z.fromJSONSchema>[0],
);

/**
 * The faults of the value as a reader of the file finds it; none when it is as the published schema
 * says.
 */
function faultsOf(value: unknown): readonly z.core.$ZodIssue[] {
  const { error } = schema.safeParse(JSON.parse(JSON.stringify(value)));
  return error?.issues ?? [];
}

const summaryOf = (records: readonly StudyRecord[]): Summary => summarize(foldStudy(records), 'journal.jsonl');

describe('the JSON Schema of summary.json', () => {
  // To bring the file up to date: npx vitest run --project unit test/study/summary-schema.test.ts
  // -u
  it('is the one in docs/', async () => {
    await expect(`${JSON.stringify(summaryJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(published);
  });

  it('fits a study at every stage of it, and that of a series', async () => {
    const records = await studyOfMany();
    for (let end = 1; end <= records.length; end++) expect(faultsOf(summaryOf(records.slice(0, end)))).toEqual([]);
    const summary = summaryOf(records);
    expect(summary).toMatchObject({ best: { predicted: {} }, gain: {}, explanation: { credit: {} } });
    expect(faultsOf(translated(records))).toEqual([]);
    const ofRates = summaryOf(atRates(records));
    expect(ofRates.best?.openLoop?.achievedRate).toBe(99);
    expect(faultsOf(ofRates)).toEqual([]);
    const place = { model: 'm', directory: 'm', config: 'm/best/m/config.pbtxt' };
    const failed = { exitCode: 4, error: { code: 'LOAD_REFUSED', message: 'no' } };
    const models = [
      toEntry(place, summary, { exitCode: 0, error: null }),
      toEntry(place, null, failed),
      toEntry(place, null, { exitCode: null, error: null }),
    ];
    expect(faultsOf({ schemaVersion: 1, models, ranking: rankModels(models) })).toEqual([]);
    expect(faultsOf({ schemaVersion: 1, models, ranking: [{ model: 'm', rank: 'first' }] })).not.toEqual([]);
  }, 180_000);

  it('does not fit what is no summary', async () => {
    const summary = summaryOf(await studyOfMany());
    const { best, ...without } = summary;
    const wrong = [
      without,
      { ...summary, more: 1 },
      { ...summary, feasible: 'yes' },
      { ...summary, best: { ...best, throughput: { value: 1, low: 1 } } },
      { ...summary, pareto: [{}] },
      { schemaVersion: 1, models: [{ model: 'm' }] },
      { schemaVersion: 2, models: [] },
    ];
    for (const value of wrong) expect(faultsOf(value)).not.toEqual([]);
  });
});

/** As if every level had been a request rate. */
function atRates(records: readonly StudyRecord[]): readonly StudyRecord[] {
  const late = { lateSends: 1, droppedSends: 0, sendLatenessP50Us: 20, achievedRate: 99 };
  return records.map((record) => {
    if (!('measurement' in record)) return record;
    const { latencyMs } = record.measurement;
    const openLoop = { scheduledLatencyMs: latencyMs, ...late, countedMs: [{ from: 0, to: 1000 }] };
    return { ...record, measurement: { ...record.measurement, openLoop } };
  });
}

/** As if a file of Model Analyzer's had asked for the study. */
const translated = (records: readonly StudyRecord[]): Summary =>
  summaryOf(
    records.map((record) =>
      record.type === 'study-started'
        ? { ...record, modelAnalyzer: { file: 'a.yaml', ignored: [{ key: 'plots', reason: 'no such thing' }] } }
        : record,
    ),
  );
