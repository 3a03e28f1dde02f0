import { describe, expect, it } from 'vitest';
import { filePaper } from '#report/charts/svg.ts';
import { titled } from '#report/charts/titled.ts';
import type { ChartName } from '#report/page/charts.ts';
import { repeatedReadings } from '#report/page/repeated-readings.ts';
import { chartTitle } from '#report/page/titles.ts';
import type { ScenarioRow } from '#report/scenario-case.ts';
import { scenarioPlots } from '#report/scenario-plots.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import type { StudyState } from '#study/records/state.ts';
import { goalOf } from '../study/builders.ts';
import { type Served, served, studyOf } from '../study/explained.ts';

const at = (level: number, throughput: number, p99Ms: number, more: Partial<Served> = {}) =>
  served({ level, throughput, p99Ms, queueMs: 6, computeMs: 3, outsideMs: 1, ...more });

const title = (name: ChartName, state: StudyState): string => chartTitle(name, state, explainBest(state));

const study = (goal = goalOf(20)): StudyState =>
  studyOf(
    [
      { assignment: {}, measurements: [at(4, 300, 12), at(8, 310, 25)] },
      { assignment: { instances: 2 }, measurements: [at(16, 900, 10, { queueMs: 1 }), at(4, 500, 5), at(32, 920, 40)] },
      { assignment: { instances: 4 }, measurements: [at(4, 200, 30)], feasible: false },
    ],
    { goal },
  );

describe('the title of a chart', () => {
  it('says how many configs the best beats in both figures', () => {
    expect(title('front', study())).toBe('Trial 1 serves more at lower latency than 2 of 2 other configs');
  });

  it('says where more load serves no more', () => {
    expect(title('throughput-vs-latency', study())).toBe('Trial 1: throughput stops growing at concurrency 16');
    const growing = studyOf([{ assignment: {}, measurements: [at(4, 300, 12), at(8, 600, 15)], chosen: 1 }]);
    expect(title('throughput-vs-latency', growing)).toBe(
      'Your config: throughput still grows at the highest level, concurrency 8',
    );
  });

  it('says up to which load the limit is kept, and without a limit how the latency grows', () => {
    expect(title('latency-vs-load', study())).toBe(
      'Trial 1 meets p99 ≤ 20 ms up to concurrency 16, your config up to concurrency 4',
    );
    expect(title('latency-vs-load', study(goalOf(null)))).toMatch(
      /^Trial \d: p99 from 5 ms at concurrency 4 to 40 ms at concurrency 32$/,
    );
  });

  it('says that no level keeps the limit', () => {
    expect(title('latency-vs-load', study(goalOf(2)))).toMatch(
      /^Neither trial \d nor your config meets p99 ≤ 2 ms at a measured level$/,
    );
  });

  it('says what takes most of the time, and what it took before', () => {
    expect(title('latency-breakdown', study())).toBe(
      "Compute takes most of a request's time: 60 %, with your config 30 %",
    );
  });
});

describe('a file of a chart', () => {
  const drawing = '<svg width="900" height="420" viewBox="0 0 900 420"><path d="M0 0"></path></svg>';

  it('has the title above the drawing', () => {
    const file = titled(drawing, 'Trial 1: p99 < 20 ms & more', filePaper);
    expect(file).toMatch(/^<svg width="900" height="466" viewBox="0 0 900 466"/);
    expect(file).toContain('<title>Trial 1: p99 &#60; 20 ms &#38; more</title>');
    expect(file).toContain('>Trial 1: p99 &#60; 20 ms &#38; more</text>');
    expect(file).toContain('<svg y="46" width="900" height="420"');
  });

  it('breaks a title that is longer than the drawing is wide', () => {
    const file = titled(drawing, 'a title of many words '.repeat(12).trim(), filePaper);
    const lines = [...file.matchAll(/<text [^>]*>([^<]*)</g)].map(([, line]) => line ?? '');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(86);
    expect(file).toContain(`height="${420 + 16 + 22 * lines.length + 8}"`);
  });
});

describe('the titles of a scenario', () => {
  const toRow = (value: number, inferPerSecond: number, p99Us: number): ScenarioRow =>
    ({
      batch: value,
      report: { level: { value }, inferPerSecond, percentilesUs: [{ percentile: 99, us: p99Us }] },
    }) as unknown as ScenarioRow;
  const titles = (...rows: ScenarioRow[]) => scenarioPlots(rows, 'offline').map(({ title: text }) => text);

  it('say where throughput stops growing, and how latency grows', () => {
    expect(titles(toRow(1, 100, 1000), toRow(4, 350, 2000), toRow(16, 360, 8000))).toEqual([
      'Throughput stops growing at batch 4: 350 infer/s',
      'p99 goes from 1 ms at batch 1 to 8 ms at batch 16',
    ]);
    expect(titles(toRow(1, 100, 1000), toRow(4, 350, 2000))[0]).toBe('Throughput still grows at batch 4: 350 infer/s');
    expect(titles(toRow(1, 100, 1000))).toEqual(['Throughput at batch 1: 100 infer/s', 'p99 is 1 ms at batch 1']);
  });
});

describe('readings of one config at one level', () => {
  it('are explained where they differ by more than their intervals', () => {
    const twice = studyOf([
      { assignment: {}, measurements: [at(4, 300, 12)] },
      { assignment: { instances: 2 }, measurements: [at(8, 900, 10), at(8, 700, 14)] },
    ]);
    const text = repeatedReadings(twice).text;
    expect(text).toContain(
      'Trial 1 at concurrency 8 was measured 2 times: 700 to 900 infer/s, and this page shows 900 infer/s; p99 10 to 14 ms',
    );
    expect(text).toContain('the final alternates between both configs');
    expect(repeatedReadings(study()).text).toBe('');
  });
});
