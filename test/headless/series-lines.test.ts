import { expect, it } from 'vitest';
import { seriesLines } from '../../src/headless/series-lines.ts';
import type { SeriesEntry } from '../../src/study/summary/series-summary.ts';

const none = { feasible: null, gain: null, best: null, exitCode: null, error: null };
const best: SeriesEntry['best'] = {
  ...{ trial: 3, assignment: {}, load: { mode: 'concurrency', value: 8 }, config: 'a/best/a/config.pbtxt' },
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
  expect(seriesLines({ schemaVersion: 1, models }, 'runs/x')).toEqual([
    '',
    'the 4 models:',
    'a     1,235 infer/s at concurrency 8, p99 6.25 ms; gain 2.00×',
    'bb    1,235 infer/s at concurrency 8, p99 6.25 ms; the original config; over its limits',
    'c     SERVER_FAILED: is gone',
    '[2Jd  nothing could be measured',
    'all in runs/x',
  ]);
});
