import { describe, expect, it } from 'vitest';
import { drawPicture } from '#report/page/first-picture.ts';
import { firstScreen } from '#report/page/first-screen.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf } from '../study/builders.ts';
import { served, studyOf, type Tried } from '../study/explained.ts';
import { jointRecords, pipeline, pipelineMeasured, tenants, tenantsMeasured } from '../support/joint-records.ts';
import { studyOfMany } from './studies.ts';

const screenOf = (records: readonly StudyRecord[]): string => {
  const state = foldStudy(records);
  return firstScreen(state, summarize(state, 'journal.jsonl')).text;
};

const valuesOf = (page: string): string[] =>
  [...page.matchAll(/class="value">([^<]*)</g)].map(([, text]) => text ?? '');

const textOf = (page: string): string => page.replaceAll(/<svg.*?<\/svg>/gs, '').replaceAll(/<[^>]+>/g, ' ');

describe('the first screen of the report', () => {
  it('has the verdict, three figures, the picture with its limit, what changes, and why', async () => {
    const records = await studyOfMany();
    const page = screenOf(records);
    const { best, gain } = foldStudy(records);
    expect(page).toMatch(/<p class="verdict good">[\d.]+ times the throughput of your config within p99 ≤ /);
    expect(valuesOf(page)).toEqual([
      expect.stringMatching(/ infer\/s$/),
      expect.stringMatching(/ infer\/s$/),
      `${gain?.gain?.value.toFixed(2)}×`,
    ]);
    expect(page).toContain(`after: trial ${best?.number}<`);
    expect(page).toMatch(
      /<figure id="picture">\n<h3>Trial \d+: [\d,]+ infer\/s at p99 [\d.]+ ms, before [\d,]+ infer\/s at /,
    );
    expect(page).toMatch(/>budget [\d.]+ ms</);
    expect(page).toMatch(/class="added">\+ max_batch_size: \d+</);
    for (const title of ['Bottleneck before', 'What changed it', 'Bottleneck now']) expect(page).toContain(title);
  });

  it('shows of the config what changes and its surroundings, not what stays', async () => {
    const page = screenOf(await studyOfMany());
    const lines = /<pre class="lines">(.*?)<\/pre>/s.exec(page)?.[1] ?? '';
    expect(lines).toContain('config.pbtxt');
    expect(lines).toContain('class="gap"');
    expect(lines).not.toContain('data_type');
  });

  it('holds at every stage of a study', async () => {
    const records = await studyOfMany();
    const first = (type: StudyRecord['type']): number => records.findIndex((record) => record.type === type);
    const ends = [
      1,
      3,
      first('final-measured'),
      first('final-measured') + 1,
      first('gain-decided'),
      records.length - 1,
    ];
    for (const end of ends) {
      const text = textOf(screenOf(records.slice(0, end)));
      expect(text, `${end} records`).not.toMatch(/NaN|undefined|Infinity|\[object/);
      expect(text, `${end} records`).toMatch(/your config|No result/);
    }
  });

  it('says of a search without a final that nothing has confirmed its gain', async () => {
    const records = await studyOfMany();
    const end = records.findIndex(({ type }) => type === 'final-measured');
    const page = screenOf(records.slice(0, end));
    expect(page).toContain('no final has confirmed it yet');
    expect(valuesOf(page)[2]).toMatch(/^about [\d.]+×$/);
  });

  it('shows the original and the best alternative where nothing better was found', () => {
    const tried: readonly Tried[] = [
      { assignment: {}, measurements: [served({ ...slow, throughput: 500 })] },
      { assignment: { instances: 2 }, measurements: [served({ ...slow, throughput: 300 })] },
    ];
    const state = studyOf(tried);
    const page = firstScreen(state, summarize(state, 'j')).text;
    expect(page).toContain('verdict same');
    expect(valuesOf(page)).toEqual(['500 infer/s', '300 infer/s', 'none']);
    expect(page).toContain('Your config stays as it is');
  });

  it('marks what misses the limit where nothing keeps it', () => {
    const state = studyOf([{ assignment: {}, measurements: [served(slow)], feasible: false }], { goal: goalOf(3) });
    const page = firstScreen(state, summarize(state, 'j')).text;
    expect(page).toContain('verdict bad');
    expect(page).toContain('over budget');
  });

  it('is of the figure that the goal is about, and of the limit on it', () => {
    const costs = { currency: 'EUR', name: 'box', per: 'server', perHour: 2, headroom: 0.1, chance: 0.95 } as const;
    const tried: readonly Tried[] = [
      { assignment: {}, measurements: [served(slow)] },
      { assignment: { instances: 2 }, measurements: [served({ ...slow, throughput: 800 })] },
    ];
    const goal = { ...goalOf(20), objectives: [{ metric: 'cost-per-million', weight: 1 }], cost: costs };
    const state = studyOf(tried, { goal });
    const picture = drawPicture(state);
    expect(picture?.objective.label).toBe('cost per million');
    expect(picture?.limited.label).toBe('p99 latency');
    expect(valuesOf(firstScreen(state, summarize(state, 'j')).text)).toEqual([
      '1.39 EUR',
      '0.694 EUR',
      expect.stringMatching(/^about \d+ %$/),
    ]);
    const byLatency = studyOf(tried, { goal: { ...goalOf(null), objectives: [{ metric: 'latency-p99', weight: 1 }] } });
    expect(drawPicture(byLatency)?.objective.label).toBe('throughput');
  });

  it('shows the configs of all models of a pipeline, and the limits of co-located ones', () => {
    const page = screenOf(jointRecords(pipeline, pipelineMeasured));
    expect(page).toContain('tokenizer/config.pbtxt');
    expect(page).toContain('encoder/config.pbtxt');
    const constraints = [{ metric: 'latency@a', relation: '<=', value: 9 }] as const;
    const mixed = screenOf(jointRecords(tenants, tenantsMeasured, goalOf(null, { constraints })));
    expect(mixed).toContain('a p99 ≤ 9 ms');
  });
});

const slow = { level: 4, throughput: 400, queueMs: 5, computeMs: 3, outsideMs: 1, p99Ms: 12 };
