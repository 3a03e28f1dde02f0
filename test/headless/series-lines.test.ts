import { expect, it } from 'vitest';
import { seriesLines } from '#headless/series-lines.ts';
import { rankModels } from '#study/summary/rank-models.ts';
import type { SeriesEntry } from '#study/summary/summary-schema.ts';

const none = { feasible: null, gain: null, verdict: null, best: null, exitCode: null, error: null };
const best: SeriesEntry['best'] = {
  trial: 3,
  assignment: {},
  load: { mode: 'concurrency', value: 8 },
  config: 'a/best/a/config.pbtxt',
  throughput: { value: 1234.5, low: 1200, high: 1270 },
  budgetLatencyMs: { percentile: 99, value: 6.25, low: 6, high: 7 },
};

it('says in a line what came of each model of a series', () => {
  const models: SeriesEntry[] = [
    { ...none, model: 'a', directory: 'a', feasible: true, gain: { ratio: 2, low: 1.9, high: 2.1 }, best, exitCode: 0 },
    { ...none, model: 'bb', directory: 'bb', feasible: false, best: { ...best, trial: 0 }, exitCode: 3 },
    { ...none, model: 'c', directory: 'c', exitCode: 4, error: { code: 'SERVER_FAILED', message: 'is\ngone' } },
    { ...none, model: '\u001b[2Jd', directory: '_2Jd' },
  ];
  expect(seriesLines({ schemaVersion: 1, models, ranking: rankModels(models) }, 'runs/x')).toEqual([
    '',
    'results of the 4 models:',
    'a     1,235 infer/s at concurrency 8, p99 6.25 ms; gain 2.00×',
    'bb    1,235 infer/s at concurrency 8, p99 6.25 ms; the original config; misses its limits',
    'c     SERVER_FAILED: is gone',
    '[2Jd  nothing could be measured',
    'files: runs/x',
  ]);
});

it('ranks the models by what they serve, with a rank for those that cannot be told apart', () => {
  const served = (model: string, value: number, half: number): SeriesEntry => ({
    ...none,
    model,
    directory: model,
    feasible: true,
    exitCode: 0,
    best: { ...best, throughput: { value, low: value - half, high: value + half } },
  });
  const models = [
    served('net_onnx', 1000, 20),
    served('net_trt', 1950, 40),
    { ...served('net_none', 9000, 10), feasible: false },
    served('net_fp16', 1990, 40),
    { ...none, model: 'net_gone', directory: 'x' },
  ];
  const ranking = rankModels(models);
  expect(ranking.map(({ model, rank }) => [model, rank])).toEqual([
    ['net_fp16', 1],
    ['net_trt', 1],
    ['net_onnx', 3],
  ]);
  const lines = seriesLines({ schemaVersion: 1, models, ranking }, 'runs/x');
  expect(lines.slice(7, -1)).toEqual([
    '',
    'ranked by throughput within their limits (= means no clear difference):',
    '1=  net_fp16  1,990 infer/s (95 %: 1,950 to 2,030)',
    expect.stringMatching(
      /^1= {2}net_trt {3}1,950 infer\/s \(95 %: 1,910 to 1,990\), 98 % \(95 %: 9\d % to 10\d %\) of the first$/,
    ),
    expect.stringMatching(/^3\. {2}net_onnx {2}1,000 infer\/s .*, 50 % \(95 %: 49 % to 52 %\) of the first$/),
    '',
  ]);
  // An interval that says nothing makes no order.
  expect(rankModels([served('a', 1000, 900), served('b', 500, 450)]).map(({ rank }) => rank)).toEqual([1, 1]);
  expect(rankModels([])).toEqual([]);
});
