import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writtenJsonSchema } from '#base/schema.ts';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { shareText } from '#capacity/words.ts';
import { capacityLines, eventLine } from '#headless/capacity-lines.ts';
import { capacityCsv } from '#report/capacity-csv.ts';
import { capacityHtml } from '#report/capacity-page.ts';
import { decideGate } from '#report/gate/decide.ts';
import { readGateDocument } from '#report/gate/readings.ts';
import { measured } from '../study/builders.ts';
import { aCapacity } from './documents.ts';

const published = resolve(import.meta.dirname, '../../docs/capacity.schema.json');

describe('the document of a capacity', () => {
  // To bring the file up to date: npx vitest run --project unit
  // test/capacity/document.test.ts -u
  it('has a schema, which is the one in docs/', async () => {
    const schema = writtenJsonSchema(capacityDocumentSchema);
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(published);
    expect(capacityDocumentSchema.safeParse(JSON.parse(JSON.stringify(aCapacity()))).error).toBeUndefined();
  });

  it('is told in lines', () => {
    const text = capacityLines(aCapacity()).join('\n');
    expect(text).toContain('capacity 1,000 requests/s (980 to 1,020) with p99 within 50 ms');
    expect(text).toContain(
      '1.25× (1,250 requests/s): p50 400 ms, p99 900 ms, 92 % over budget in 5 s, growing by 180 ms',
    );
    expect(text).toContain(
      'a burst of 2× for 30 s is served within the budget on a base rate of up to 510 requests/s (490 to 530)',
    );
    expect(text).toContain('2,000 requests/s with 20 % headroom need 3 replicas (95 % likely to suffice)');
    expect(text).toContain('250 requests/s (245 to 255) for each of 4 GPUs');
    expect(text).toContain(
      '3.20 USD an hour for 4 × L4; 0.889 USD for a million inferences at the capacity (0.871 to 0.907)',
    );
    expect(text).toContain('2,000 requests/s cost 9.60 USD an hour, 1.33 USD for a million requests');
    expect(text).toContain(
      'eight-l4 (8 GPUs) holds 2 replicas: 1.25 USD for a million inferences; 2 of them for the rate, 18.00 USD an hour',
    );
    const infeasible = capacityLines(aCapacity({ outcome: 'infeasible', capacity: null, at: null, cliff: [] }));
    expect(infeasible.join('\n')).toContain('no rate meets p99 within 50 ms');
    const bound = capacityLines(aCapacity({ outcome: 'client-limited', capacity: null }));
    expect(bound.join('\n')).toContain('at least 970 requests/s');
  });

  it.each([
    [0, '0 %'],
    [3e-8, 'under 0.001 %'],
    [0.00158, '0.158 %'],
    [1, '100 %'],
  ])('tells a share of %f', (share, text) => {
    expect(shareText(share)).toBe(text);
  });

  it('says why an estimate is no result', () => {
    const first = (change: Parameters<typeof aCapacity>[0]) =>
      capacityLines(aCapacity({ outcome: 'imprecise', ...change })).find((line) => line.startsWith('capacity'));
    const { probes } = aCapacity();
    expect(first({ capacity: { value: 1000, low: 900, high: 1100 } })).toContain('; less precise than ±3 %');
    expect(first({})).toContain('; from too few measurements');
    expect(first({ probes: [...probes, ...probes] })).toContain('; its measurements disagree');
    expect(first({ outcome: 'interrupted' })).toContain('; the run was interrupted');
    const unknown = capacityLines(aCapacity({ outcome: 'interrupted', capacity: null }));
    expect(unknown).toContain('the capacity is unknown: the run was interrupted');
  });

  it('says that failed requests are the reason where they are', () => {
    const { probes } = aCapacity();
    const failure = 'Exceeds maximum queue size';
    const failing = probes.map((probe) => ({ ...probe, perSecond: 500, isKept: false, errorRate: 0.025, failure }));
    const infeasible = capacityLines(aCapacity({ outcome: 'infeasible', capacity: null, probes: failing }));
    expect(infeasible).toContain(
      'no rate can be served: 2.5 % of requests failed (`Exceeds maximum queue size`), 1 % are allowed',
    );
    const unknown = capacityLines(aCapacity({ outcome: 'imprecise', capacity: null, probes: failing })).join();
    expect(unknown).toContain('at 500 requests/s, the lowest rate that was tried, 2.5 % of requests failed');
  });

  it('tells what is tried', () => {
    const limit = { kind: 'latency', percentile: 99, budgetMs: 50 } as const;
    const measurement = { ...measured(900, 900, 20), level: { mode: 'request-rate' as const, value: 900 } };
    const interval = { value: 1000, low: 900, high: 1100 };
    const line = eventLine({ type: 'tried', measurement, isKept: true, interval }, limit);
    expect(line).toEqual({ kind: 'done', text: '900 requests/s: p99 20 ms, met  → capacity 900 to 1,100' });
    const failures = [{ kind: 'status' as const, count: 90, firstMessage: 'no memory' }];
    const failing = { ...measurement, errorRate: 0.1, failures };
    expect(eventLine({ type: 'tried', measurement: failing, isKept: false, interval: null }, limit).text).toBe(
      '900 requests/s: p99 20 ms, missed: 10 % of requests failed (`no memory`), 1 % are allowed',
    );
  });

  it('becomes a table with every measurement', () => {
    const rows = capacityCsv(aCapacity()).trim().split('\r\n');
    expect(rows[0]).toContain('kind,requests_per_second,kept,p99_ms');
    expect(rows.map((row) => row.split(',')[0])).toEqual(['kind', 'search', 'search', 'beyond', 'burst']);
  });

  it('becomes a page that escapes what others wrote', () => {
    const page = capacityHtml(aCapacity({ model: '<script>x</script>', notes: ['<b>note</b>'] }));
    expect(page).not.toContain('<script>x');
    expect(page).not.toContain('<b>note');
    for (const part of ['Beyond the capacity', 'Burst', 'Replicas', 'Measurements', '<svg'])
      expect(page).toContain(part);
    expect(capacityHtml(aCapacity({ capacity: null, probes: [], cliff: [], outcome: 'interrupted' }))).toContain(
      'The capacity is unknown',
    );
  });

  it('is gated by its interval, and only against the same limit', () => {
    const rule = { tolerance: 0.02, confidence: 0.99, mustSee: 0.1 };
    const read = (change: Parameters<typeof aCapacity>[0]) =>
      readGateDocument(JSON.stringify(aCapacity(change)), 'capacity.json');
    const less = { capacity: { value: 900, low: 885, high: 915 } };
    const same = { capacity: { value: 990, low: 970, high: 1010 } };
    expect(decideGate([read({})], [read(less)], rule).isRegression).toBe(true);
    expect(decideGate([read({})], [read(same)], rule).isRegression).toBe(false);
    const other = { limit: { percentile: 99, budgetMs: 80, limits: null } };
    expect(decideGate([read({})], [read(other)], rule).comparisons[0]?.verdict).toBe('missing');
    expect(read({ capacity: null, outcome: 'infeasible' }).flaw).toContain('infeasible');
  });
});
