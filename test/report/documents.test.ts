import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configDocuments } from '#adapter/triton/documents.ts';
import { html } from '#report/html.ts';
import { paretoCsv, resultsCsv } from '#report/results-csv.ts';
import { writeRun } from '#report/write-run.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { FinalMeasured, StudyRecord } from '#study/records/records.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import {
  configOf,
  failedTrial,
  goalOf,
  measured,
  originalConfig,
  studyStarted,
  toCandidate,
  trialOf,
} from '../study/builders.ts';

const hostile = '<script>alert("x")</script>&\'';

function studyOf(model: string, reason: string, further: readonly FurtherTrial[] = []): StudyRecord[] {
  const at = '2026-01-01T00:00:01.000Z';
  const trial = (number: number, config: typeof originalConfig, throughput: number, latencyMs = 5): StudyRecord[] => [
    {
      type: 'trial-started',
      at,
      trial: number,
      role: number === 0 ? 'baseline' : 'search',
      candidate: toCandidate(config, number === 0 ? {} : { note: hostile }),
    },
    { type: 'trial-measured', at, trial: number, measurement: measured(4, throughput, latencyMs) },
    { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
  ];
  return [
    studyStarted(goalOf(8), { model, commandLine: ['tune', hostile] }),
    ...trial(0, originalConfig, 100),
    ...trial(1, configOf(2, 8), 250),
    { type: 'trial-started', at, trial: 2, role: 'search', candidate: toCandidate(configOf(3, 8)) },
    { type: 'trial-finished', at, trial: 2, chosen: null, feasible: false, failure: { kind: 'init-failed', reason } },
    ...further.flatMap(([config, throughput, latencyMs], index) => trial(3 + index, config, throughput, latencyMs)),
  ];
}

type FurtherTrial = readonly [config: typeof originalConfig, throughput: number, latencyMs: number];

describe('html', () => {
  it('escapes every plain value and nothing that is markup already', () => {
    expect(html`<b>${hostile}</b>${html`<i>${1}</i>`}${[html`<u></u>`]}`.text).toBe(
      '<b>&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;&#38;&#39;</b><i>1</i><u></u>',
    );
  });
});

describe('the documents of a run', () => {
  it('are written whole, and no name or message becomes markup or a path', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tritune-report-'));
    const { summary, files } = await writeRun(foldStudy(studyOf(hostile, hostile)), directory, (best) =>
      configDocuments(best, hostile, () => 'safe'),
    );
    expect((await readdir(directory)).sort()).toEqual([
      ...['best', 'pareto.csv', 'report.html', 'results', 'results.csv', 'summary.json'],
    ]);
    expect(files.metrics).toBe(join(directory, 'results'));
    expect((await readdir(files.metrics)).sort()).toEqual([
      ...['metrics-model-gpu.csv', 'metrics-model-inference.csv', 'metrics-server-only.csv'],
    ]);
    const page = await readFile(files.report, 'utf8');
    expect([...page.matchAll(/<script/gi)]).toHaveLength(1);
    expect(page).toContain('&#60;script&#62;');
    expect(page).toMatch(/<svg[\s\S]*<\/svg>/);
    expect(page).not.toMatch(/(?:src|href)="http/);
    expect(JSON.parse(await readFile(files.summary, 'utf8'))).toEqual(JSON.parse(JSON.stringify(summary)));
    expect(summary.best?.trial).toBe(1);
  });

  it('hold the best config, loadable and named as the model', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tritune-report-'));
    const { files } = await writeRun(foldStudy(studyOf('m', 'no')), directory, (best) =>
      configDocuments(best, 'm', (name) => name),
    );
    expect(files.config).toBe(join(directory, 'best', 'm', 'config.pbtxt'));
    const { config } = parseConfigText(await readFile(files.config as string, 'utf8'), 'config.pbtxt');
    expect(config).toMatchObject({ name: 'm', max_batch_size: 8, instance_group: [{ count: 2, kind: 'KIND_CPU' }] });
  });

  it('hold the configs of the other trials on the front, and no longer those that have left it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tritune-report-'));
    const write = (further: readonly FurtherTrial[]) =>
      writeRun(foldStudy(studyOf('m', 'no', further)), directory, (each) => configDocuments(each, 'm', (name) => name));
    const [quick, dominated] = [configOf(4, 2), configOf(1, 2)];
    await write([
      [quick, 150, 2],
      [dominated, 120, 4],
    ]);
    expect(await readdir(join(directory, 'front'))).toEqual(['3']);
    const text = await readFile(join(directory, 'front', '3', 'm', 'config.pbtxt'), 'utf8');
    expect(parseConfigText(text, 'config.pbtxt').config).toMatchObject({
      max_batch_size: 2,
      instance_group: [{ count: 4 }],
    });
    await write([]);
    expect(await readdir(directory)).not.toContain('front');
  });

  it('hold no config where the original one is the nearest to a goal that nothing meets', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tritune-report-'));
    const original = studyOf('m', 'no').slice(1, 4);
    const missed = foldStudy([
      studyStarted(goalOf(3)),
      ...original.map((record) => (record.type === 'trial-finished' ? { ...record, feasible: false } : record)),
    ]);
    const { summary, files } = await writeRun(missed, directory, (best) => configDocuments(best, 'm', (name) => name));
    expect(summary).toMatchObject({ verdict: 'infeasible', best: { trial: 0 } });
    expect(files.config).toBeNull();
    expect(await readdir(directory)).not.toContain('best');
  });
});

describe('results.csv', () => {
  it('has a row for every measurement, also of the final, and every failed trial, and no cell that a spreadsheet would run', () => {
    const trials = [
      trialOf(0, originalConfig, { measurements: [measured(1, 100, 5), measured(2, 150, 6)], chosen: 1 }),
      {
        ...failedTrial(1, configOf(2, 8), 'init-failed'),
        candidate: toCandidate(configOf(2, 8), { note: '=1+1', list: [4, 8] }),
      },
    ];
    const at = '2026-01-01T00:00:00.000Z';
    const final: FinalMeasured = { type: 'final-measured', at, trial: 0, round: 2, measurement: measured(2, 140, 7) };
    const [header, ...rows] = resultsCsv({ trials, finals: [final] })
      .trim()
      .split('\r\n');
    expect(header?.split(',').slice(0, 6)).toEqual(['trial', 'role', 'final_round', 'chosen', 'note', 'list']);
    expect(rows).toHaveLength(4);
    expect(rows[0]).toMatch(/^0,baseline,,false,,,concurrency,1,100,98,102,/);
    expect(rows[1]).toMatch(/^0,baseline,,true,/);
    expect(rows[2]).toMatch(/^0,baseline,2,false,,,concurrency,2,140,/);
    const [, later = ''] = header?.split(',reason') ?? [];
    expect(rows[3]).toMatch(/^1,search,,false,'=1\+1,"\[4,8\]",.*,init-failed,init-failed!,+$/);
    expect(/,*$/.exec(rows[3] ?? '')?.[0]).toHaveLength(later.split(',').length - 1);
  });
});

describe('pareto.csv', () => {
  it('has a row for each point of the front, with the columns of results.csv', () => {
    const { front } = foldStudy(studyOf('m', 'no'));
    const [header, ...rows] = paretoCsv(front).trim().split('\r\n');
    expect(header).toMatch(/^trial,role,feasible,note,load_mode,load_value,throughput_infer_per_s,/);
    expect(rows).toEqual([expect.stringMatching(/^1,search,true,.*,concurrency,4,250,245,255,/)]);
  });
});
