import { describe, expect, it } from 'vitest';
import { createLines } from '#headless/lines.ts';
import { perfAnalyzerCsv } from '#report/perf-analyzer-csv.ts';
import { paretoCsv, resultsCsv } from '#report/results-csv.ts';
import { stageSplits } from '#study/analysis/stages.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { goalOf } from '../study/builders.ts';
import {
  breakdown,
  jointly,
  jointRecords,
  pipeline,
  pipelineMeasured,
  tenants,
  tenantsMeasured,
} from '../support/joint-records.ts';
import { levelReport, serverReport } from '../support/level-reports.ts';

const rowsOf = (csv: string): readonly Record<string, string>[] => {
  const [head = '', ...rows] = csv.trim().split('\r\n');
  const names = head.split(',');
  return rows.map((row) => Object.fromEntries(row.split(',').map((cell, index) => [names[index], cell])));
};

const linesOf = (records: readonly StudyRecord[]): readonly string[] => {
  const lines: string[] = [];
  const onEvent = createLines((line) => lines.push(line));
  for (const record of records) onEvent(record);
  return lines;
};

describe('the split of a pipeline’s time', () => {
  const records = jointRecords(pipeline, pipelineMeasured);
  const state = foldStudy(records);

  it('stands in results.csv, in columns of each stage', () => {
    const [original, trial] = rowsOf(resultsCsv(state, builtInMetrics, pipeline));
    expect(original).toMatchObject({
      'server_queue_us@encoder': expect.stringMatching(/^7200(\.0000|$)/),
      'server_compute_infer_us@encoder': '2800',
      'server_queue_us@tokenizer': '200',
      'requests@tokenizer': '1000',
      'mean_batch@encoder': '2',
    });
    expect(Number(trial?.['server_queue_us@encoder'])).toBeCloseTo(1200, 6);
    expect(Object.keys(original ?? {})).not.toContain('throughput_infer_per_s@encoder');
    const [point] = rowsOf(paretoCsv(state.front, builtInMetrics, pipeline));
    expect(Number(point?.['server_queue_us@encoder'])).toBeGreaterThan(0);
  });

  it('leaves the other columns as they are for one model alone', () => {
    const [without, own] = [resultsCsv(state), resultsCsv(state, builtInMetrics, pipeline)];
    const [head, longer] = [without, own].map((csv) => csv.split('\r\n')[0] as string);
    expect(longer?.startsWith(`${head},`)).toBe(true);
  });

  it('stands under each measurement in the lines', () => {
    expect(linesOf(records)).toContain(
      '        queue + compute, busy: tokenizer 0.2 + 0.8 ms, 27 %; encoder 7.2 + 2.8 ms, 93 % (most)',
    );
  });

  it('stands in the CSV of a profile, at the end of the row', () => {
    const composing = ['a', 'b,c'].map((model, index) => ({
      ...serverReport,
      model,
      version: '1',
      queueUs: index * 10,
    }));
    const own = levelReport({ server: { ...serverReport, composing } });
    const csv = perfAnalyzerCsv([own, levelReport()], { isVerbose: false, withGpuMetrics: false, percentile: null });
    const [head = '', row = '', empty = ''] = csv.split('\n');
    expect(head).toMatch(/,p99 latency,a Requests,a Executions,a Queue,.*,a Compute Output,"b,c Requests",/);
    expect(row).toMatch(/,1250,625,0,21,4700,54,1250,625,10,21,4700,54$/);
    expect(empty).toMatch(/,19583,,,,,,,,,,,,$/);
  });
});

describe('the figures of models that share a server', () => {
  const records = jointRecords(
    tenants,
    tenantsMeasured,
    goalOf(20, { objectives: [{ metric: 'throughput@a', weight: 1 }] }),
  );

  it('stand in results.csv, in columns of each', () => {
    const [original] = rowsOf(resultsCsv(foldStudy(records), builtInMetrics, tenants));
    expect(original).toMatchObject({
      'throughput_infer_per_s@a': '260',
      'throughput_infer_per_s@b': '40',
      throughput_infer_per_s: '300',
      'latency_p99_ms@b': '24',
      'load_value@a': '8',
      'load_value@b': '40',
      'server_queue_us@a': '3000',
    });
    expect(Object.keys(original ?? {}).some((name) => name.startsWith('gpu_memory_mib@'))).toBe(false);
  });

  it('stand under each measurement in the lines, and not twice', () => {
    const lines = linesOf(records).join('\n');
    expect(lines).toContain(
      '\n        a at concurrency 8: 260 infer/s, p99 12 ms\n        b at 40 requests/s: 40 infer/s, p99 24 ms\n',
    );
    expect(lines).not.toContain('a throughput');
  });
});

describe('stageSplits', () => {
  it('takes the calls of a BLS model out of its computing, and says how often each is called', () => {
    const topology = {
      fronts: [{ model: 'front', steps: [{ stage: 'front' }] }],
      stages: ['front', 'crop', 'classify'],
      calls: { front: ['crop', 'classify'] },
    };
    const measurement = {
      ...pipelineMeasured(8, 600, 12),
      server: breakdown(1, 10, 1000, 1),
      composing: [
        { model: 'crop', version: '1', ...breakdown(1, 2, 1000) },
        { model: 'classify', version: '1', ...breakdown(0, 1.5, 4000, 8) },
      ],
    };
    const { shape } = jointly({ front: 8, crop: 2, classify: 1 }, 'front');
    const splits = stageSplits(measurement, topology, shape);
    expect(splits.map(({ model, timesPerRequest }) => [model, Math.round(timesPerRequest)])).toEqual([
      ['front', 1],
      ['crop', 1],
      ['classify', 4],
    ]);
    expect(splits[0]).toMatchObject({ queueMs: 1, computeMs: 1, callsMs: 9, batchSize: 1, instances: 8 });
    expect(splits[0]?.busy).toBeCloseTo((1000 * 10) / (8 * 1500), 6);
    expect(splits[2]?.busy).toBeCloseTo((500 * 1.5) / 1500, 6);
  });
});
