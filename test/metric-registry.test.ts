import { describe, expect, it } from 'vitest';
import { createLines } from '#headless/lines.ts';
import { reportHtml } from '#report/report-html.ts';
import { paretoCsv, resultsCsv } from '#report/results-csv.ts';
import { assess, costHalfWidth, missedConstraints } from '#study/goal/goal.ts';
import { constraintHelp, constraintParser, objectiveParser } from '#study/goal/goal-text.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { foldStudy } from '#study/records/fold.ts';
import { parseJournal } from '#study/records/journal-text.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Goal } from '#study/types.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { ViewFold } from '#tui/state.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from './study/builders.ts';

/** A metric that nobody has: all that is written to have it everywhere. */
const energy: Metric = {
  name: 'energy-per-request',
  label: 'energy',
  description: 'energy of a request',
  unit: 'J',
  units: { J: 1, mJ: 1e-3 },
  better: 'lower',
  interval: {
    from: 'windows',
    of: ({ device, throughput }) => {
      const value = (device.gpuPowerW ?? Number.NaN) / throughput.value;
      return { value, low: value * 0.9, high: value * 1.1 };
    },
  },
  needs: ['gpu-metrics'],
  read: ({ device, throughput }) => (device.gpuPowerW === undefined ? undefined : device.gpuPowerW / throughput.value),
};

const metrics = builtInMetrics.with(energy);
const constraint = constraintParser(metrics)('energy-per-request<=1500mJ');
const [at, device] = ['2026-01-01T00:00:01.000Z', { gpuPowerW: 300 }];

const trial = (number: number, config: typeof originalConfig, throughput: number): readonly StudyRecord[] => [
  {
    type: 'trial-started',
    at,
    trial: number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(config, number === 0 ? {} : { instances: 2 }),
  },
  { type: 'trial-measured', at, trial: number, measurement: measured(4, throughput, 5, { device }) },
  { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
];

/**
 * A study with that goal, of an original that takes 3 J a request and a candidate that takes 1.2 J.
 */
const recordsOf = (goal: Goal): readonly StudyRecord[] => [
  studyStarted(goal),
  ...trial(0, originalConfig, 100),
  ...trial(1, configOf(2, 8), 250),
];

/** It limits the metric, or does not speak of it. */
const limited: Goal = { ...goalOf(8, { constraints: [constraint] }), metrics };
const silent: Goal = { ...goalOf(8), metrics };

const lastOf = (line: string | undefined): string | undefined => line?.split(',').at(-3);
const linesOf = (goal: Goal): readonly string[] => {
  const lines: string[] = [];
  const onEvent = createLines((line) => lines.push(line));
  for (const record of recordsOf(goal)) onEvent(record);
  return lines;
};

/** The panel of the trial that is the best. */
function panelOf(goal: Goal): string {
  const fold = new ViewFold(recordsOf(goal));
  const rows = trialPanel(fold.view(), initialInteraction, { columns: 70, rows: 30 });
  return rows
    .map((spans) =>
      spans
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

function pageOf(goal: Goal): string {
  const state = foldStudy(recordsOf(goal));
  return reportHtml(state, summarize(state, 'journal.jsonl'), null);
}

describe('one more entry of the registry', () => {
  it('can be asked for, with its units', () => {
    expect(constraint).toEqual({ metric: 'energy-per-request', relation: '<=', value: 1.5 });
    expect(objectiveParser(metrics)('energy-per-request:2')).toEqual({ metric: 'energy-per-request', weight: 2 });
    expect(() => constraintParser(builtInMetrics)('energy-per-request<=1')).toThrowError(
      expect.objectContaining({ code: 'USAGE' }),
    );
  });

  it('is in the help of --constraint', () => {
    expect(constraintHelp(metrics)).toMatch(/, energy-per-request$/);
  });

  it('decides what is feasible, and what is better by how much', () => {
    const [one, other] = [measured(4, 100, 5, { device }), measured(4, 250, 5, { device })];
    const candidate = toCandidate(originalConfig);
    expect(missedConstraints(one, candidate, limited)).toEqual([constraint]);
    expect(assess(other, candidate, limited).feasible).toBe(true);
    const frugal: Goal = { ...silent, objectives: [{ metric: 'energy-per-request', weight: 1 }] };
    expect(assess(one, candidate, frugal).cost - assess(other, candidate, frugal).cost).toBeCloseTo(Math.log(2.5), 12);
    expect(costHalfWidth(one, toCandidate(originalConfig), frugal)).toBeCloseTo(0.1, 2);
    expect(foldStudy(recordsOf(limited)).best?.number).toBe(1);
  });

  it('stands at the end of the rows of results.csv and pareto.csv', () => {
    const { trials, finals, front } = foldStudy(recordsOf(silent));
    const before = resultsCsv({ trials, finals }).trim().split('\r\n');
    const rows = resultsCsv({ trials, finals }, metrics).trim().split('\r\n');
    const added = ['energy_per_request_j', 'energy_per_request_j_low', 'energy_per_request_j_high'];
    expect(rows[0]).toBe([before[0], ...added].join(','));
    expect(rows[0]).toContain(',load_batch,gpus,');
    expect(rows.slice(1).map(lastOf)).toEqual(['3', '1.2']);
    expect(rows[1]?.startsWith(`${before[1]},`)).toBe(true);
    const [head, ...points] = paretoCsv(front, metrics).trim().split('\r\n');
    expect(head?.endsWith(`,${added.join(',')}`)).toBe(true);
    expect(points.map(lastOf)).toEqual(['1.2']);
  });

  it("is in the report's trials, and where the goal is about it in its tables", () => {
    const details = /<th>energy, J<\/th>.*?<tr id="m-1-0">.*?<td>1.2 \(1.08 – 1.32\)<\/td>/s;
    expect(pageOf(silent)).toMatch(details);
    const page = pageOf(limited);
    expect(page).toMatch(details);
    expect(page).toMatch(
      /<table class="rows trials">.*?<th>energy, J<\/th><th>feasible<\/th>.*?<td[^>]*>1.2<\/td><td[^>]*>yes<\/td>/s,
    );
    expect(page).toMatch(/<th scope="row">energy, J<\/th><td>1.2<\/td><td>3<\/td>/);
    expect(page).toContain('energy-per-request &#60;= 1.5 J');
  });

  it("is in the screen's panel of a trial", () => {
    expect(panelOf(silent)).toMatch(/ device\n.* energy 1\.2 J/);
    expect(panelOf(limited)).toMatch(/ the goal\n {2}energy 1\.2 J \(≤ 1\.5 J\)/);
  });

  it('is in the lines of a run', () => {
    expect(linesOf(limited).filter((line) => line.includes('misses'))).toEqual([
      '    concurrency 4: 100 infer/s ±2.0 %, p99 5 ms, within budget, misses energy-per-request <= 1.5 J with 3 J',
    ]);
    const aimed = linesOf({ ...silent, objectives: [{ metric: 'energy-per-request', weight: 1 }] });
    expect(aimed).toContain('    concurrency 4: 250 infer/s ±2.0 %, p99 5 ms, within budget, energy 1.2 J');
  });

  it('is in a journal by its name, and known again to whoever brings the registry', () => {
    const text = recordsOf(limited)
      .map((record) => `${JSON.stringify(record)}\n`)
      .join('');
    expect(text).not.toContain('"metrics"');
    const { records } = parseJournal(Buffer.from(text), 'journal.jsonl', metrics);
    const { goal, best } = foldStudy(records);
    expect(goal).toEqual(limited);
    expect(missedConstraints(measured(4, 100, 5, { device }), toCandidate(originalConfig), goal)).toEqual([constraint]);
    expect(best?.number).toBe(1);
    expect(() => parseJournal(Buffer.from(text), 'journal.jsonl')).toThrowError(
      expect.objectContaining({ code: 'JOURNAL_INVALID', message: expect.stringContaining('energy-per-request') }),
    );
  });

  it('is not taken from what a file has in its place', () => {
    const start = JSON.stringify(studyStarted({ ...goalOf(8) })).replace('"constraints"', '"metrics":{},"constraints"');
    const [record] = parseJournal(Buffer.from(`${start}\n`), 'journal.jsonl').records;
    expect(record).toEqual(studyStarted(goalOf(8)));
  });
});
