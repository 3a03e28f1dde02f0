import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { breakdownChart } from '#report/charts/breakdown-chart.ts';
import { narrowPaper, widePaper } from '#report/charts/svg.ts';
import { jsonBlock } from '#report/html.ts';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { callCli } from '../support/call-cli.ts';
import { offlineStudy, slowerLater } from '../support/drifting-study.ts';
import { jointRecords, pipeline, pipelineMeasured, tenants, tenantsMeasured } from '../support/joint-records.ts';
import { trialRecords } from '../support/study-records.ts';
import { hostile, hostileStudy, studyOfMany } from './studies.ts';

function pageOf(records: readonly StudyRecord[]): string {
  const state = foldStudy(records);
  return reportHtml(state, summarize(state, 'journal.jsonl'), null);
}

/** Returns the page of a study, drawn once: it takes most of a second. */
function drawnOnce(recordsOf: () => readonly StudyRecord[] | Promise<readonly StudyRecord[]>): () => Promise<string> {
  let page: string | undefined;
  return async () => {
    page ??= pageOf(await recordsOf());
    return page;
  };
}

const thePage = drawnOnce(studyOfMany);

const headings = (page: string): string[] => [...page.matchAll(/<h2[^>]*>([^<]*)</g)].map(([, text]) => text ?? '');

describe('embedded JSON', () => {
  it('holds any text unchanged, and nothing that ends its block', () => {
    const text = jsonBlock('x', { hostile }).text;
    expect(text.match(/<\/?\w+/g)).toEqual(['<script', '</script']);
    expect(text).not.toContain('<!--');
    const json = text.slice(text.indexOf('>') + 1, text.lastIndexOf('<'));
    expect(JSON.parse(json)).toEqual({ hostile });
  });
});

describe('the page', () => {
  it('has the clock of each GPU at both ends of the study', () => {
    const trial = (number: number, clockMhz: number): StudyRecord[] =>
      trialRecords({
        number,
        readings: [{ level: 1, throughput: 100, latencyMs: 5 }],
        chosen: 0,
        feasible: true,
        more: { device: { gpus: [{ uuid: 'GPU-1', clockMhz }] } },
      });
    const page = pageOf([studyStarted(goalOf(10)), ...trial(0, 1410), ...trial(1, 1500), ...trial(2, 1200)]);
    expect(page).toContain('GPU-1: 1,410 MHz in the first measurement, 1,200 in the last, 1,200 to 1,500 in all');
  });

  it('has every part, and the same study gives the same page', async () => {
    const records = await studyOfMany();
    const page = await thePage();
    expect(headings(page)).toEqual([
      'What changes in your config',
      'Why',
      'Best and original',
      'Throughput and latency',
      'What mattered',
      'What if',
      'Trials',
      'What failed',
      "Where the study's time went",
      'How it was measured',
    ]);
    expect(pageOf(records)).toBe(page);
  });

  it('says what machine and server were like at rest, and at its head where the budget feels it', async () => {
    const records = await studyOfMany();
    const restless = (highMs: number): string => {
      let isFirst = true;
      return pageOf(
        records.map((record) => {
          if (record.type !== 'trial-measured' || !isFirst) return record;
          isFirst = false;
          const level = { mode: 'concurrency', value: 1 } as const;
          return {
            ...record,
            measurement: { ...record.measurement, level, windowPercentilesMs: { low: 1, high: highMs } },
          };
        }),
      );
    };
    const budgetMs = foldStudy(records).goal.budget?.latencyMs ?? Number.NaN;
    const fact = /<dt>idle<\/dt><dd>p99 is [^<]* with one request in flight[^<]*budget[^<]*<\/dd>/;
    const notice =
      /<p class="notice">At the start of the study: [^<]*noise alone exceeds your [^<]* budget\. Try a quieter machine, [^<]*<\/p>/;
    expect(await thePage()).not.toContain('<dt>idle');
    const [within, beyond] = [restless(1), restless(2 * budgetMs)];
    expect(within).toMatch(fact);
    expect(within).not.toContain('At the start of the study');
    expect(beyond).toMatch(fact);
    expect(beyond).toMatch(notice);
  });

  it('says how much of its time went into loads', async () => {
    expect(/<dt>time<\/dt><dd>(.*?)<\/dd>/.exec(await thePage())?.[1]).toMatch(/^\S.*, \S.* of it loading configs$/);
  });

  it('loads nothing and lets nothing but its own script run', async () => {
    const page = await thePage();
    expect(page).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; [^"]*script-src 'sha256-/,
    );
    expect(page.match(/(?:src|href|action)="(?!#)[^"]*"/g)).toBeNull();
    expect(page).not.toMatch(/url\(|@import|https?:\/\/(?!www\.w3\.org\/)/);
  });

  it('shows hostile names, messages and values as text', async () => {
    const page = pageOf(await hostileStudy());
    expect(page).not.toContain(hostile);
    expect(page).not.toContain('<img');
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<\/style>/g)).toHaveLength(1);
    expect(page).toContain('&#60;/script&#62;');
  });

  it('links every point of the front to a row that is there', async () => {
    const page = await thePage();
    const targets = new Set([...page.matchAll(/<a href="#(m-[^"]+)"/g)].map(([, id]) => id as string));
    expect(targets.size).toBeGreaterThan(20);
    for (const id of targets) expect(page.split(`<tr id="${id}"`), id).toHaveLength(2);
  });

  it('shows in the table of trials what the final measured of the best, with its mark', async () => {
    const { best, finals } = foldStudy(await studyOfMany());
    const row = new RegExp(
      `<a href="#trial-${best?.number}">${best?.number} best</a></th><td[^>]*>[^<]*</td><td[^>]*>(\\d+)†</td>`,
    );
    const level = Number(row.exec(await thePage())?.[1]);
    expect(finals.some((final) => final.trial === best?.number && final.measurement.level.value === level)).toBe(true);
    expect(await thePage()).toContain('†: measured in the final');
    const before = (await studyOfMany()).filter(({ type }) => type !== 'final-measured' && type !== 'gain-decided');
    expect(pageOf(before)).not.toContain('†');
  });

  it('has one row for the budgeted percentile', async () => {
    const heads = [...(await thePage()).matchAll(/<th scope="row">(p99[^<]*)</g)].map(([, head]) => head);
    expect(heads).toEqual(['p99 latency, ms']);
  });

  it('says of an unfinished run that it is one, whatever it holds so far', async () => {
    const records = await studyOfMany();
    for (const length of [1, 3, 4, records.length - 1]) {
      expect(pageOf(records.slice(0, length)), `${length} records`).toContain('This run is not finished');
    }
    expect(await thePage()).not.toContain('This run is not finished');
  });

  it('says what met the goal by luck, as the search saw it, unless the final measured it again', async () => {
    const records = await studyOfMany();
    const before = records.findIndex(({ type }) => type === 'final-measured');
    const { best, trials } = foldStudy(records.slice(0, before));
    const readings = (best?.measurements ?? []).map((_, reading) => ({ trial: best?.number ?? 0, reading }));
    const doubted = { type: 'readings-doubted', at: '2026-01-01T00:00:00Z', readings } as const;
    expect(trials.length).toBeGreaterThan(3);
    const marks = (page: string) => page.match(/>by luck<\/td>/g)?.length ?? 0;
    const unfinished = pageOf([...records.slice(0, before), doubted]);
    expect(marks(unfinished)).toBe(1);
    expect(unfinished).toContain('less than one third likely');
    const final = records.filter((record) => record.type === 'final-measured' && record.trial === best?.number);
    expect(final.length).toBeGreaterThan(0);
    expect(marks(pageOf([...records.slice(0, before), doubted, ...final.slice(0, 1)]))).toBe(0);
  });

  it('says what the gain is in where that is not throughput alone', async () => {
    const records = await studyOfMany();
    const objectives = [{ metric: 'latency-p99', weight: 1 }];
    const aimed = records.map((each) =>
      each.type === 'study-started' ? { ...each, goal: { ...each.goal, objectives } } : each,
    );
    expect(await thePage()).toMatch(/× the original config \(/);
    expect(pageOf(aimed)).toMatch(/× as good as the original config by latency-p99 \(/);
  });

  it('says of two columns whether their gain was measured', async () => {
    const records = await studyOfMany();
    const before = records.findIndex(({ type }) => type === 'final-measured');
    expect(before).toBeGreaterThan(0);
    expect(pageOf(records.slice(0, before))).toContain('There was no final, so the gain was not measured');
    expect(await thePage()).not.toContain('There was no final, so the gain was not measured');
    expect(await thePage()).toContain(
      'comes from alternating runs of both configs, so it may differ from the ratio of the two columns',
    );
    // With the original alone there is nothing to gain.
    expect(pageOf(records.slice(0, 3))).not.toContain('There was no final, so the gain was not measured');
  });

  it('keeps the predictions of a study of any size small', async () => {
    const page = await thePage();
    const block = page.match(/<script type="application\/json"[^>]*>(.*?)<\/script>/s)?.[1] ?? '';
    expect(block.length).toBeGreaterThan(500);
    expect(block.length).toBeLessThan(100_000);
  });
});

describe("the machine's speed on the page", () => {
  const drifting = drawnOnce(async () => (await offlineStudy(slowerLater)).records);

  it('is a strip over time where it changed, with the usual speed and the part of the final', async () => {
    const page = await drifting();
    expect(headings(page)).toContain("The machine's speed");
    expect(page).toMatch(/ran at \d\d % to 1\d\d % of their speed in the study's first minute; usual was \d+ %/);
    const strip = /<figure id="speed">(.*?)<\/figure>/s.exec(page)?.[1] ?? '';
    expect(strip).toContain('seconds of the study');
    expect(strip).toMatch(/>usual \d\.\d\d</);
    expect(strip).toContain('>final<');
    expect(page).not.toContain('speed held within');
  });

  it('marks what is compared by other figures than were measured', async () => {
    const page = await drifting();
    expect(page).toMatch(/<small>×[01]\.\d\d<\/small>/);
    expect(page).toContain('×: measured while the machine was slower or faster than usual.');
    expect(page).toMatch(/at \d+ % of the first minute&#39;s speed: corrected to [\d,.]+ infer\/s, p99 [\d.]+ ms/);
  });

  it('is one sentence where it held', async () => {
    const page = pageOf((await offlineStudy()).records);
    expect(headings(page)).not.toContain("The machine's speed");
    expect(page).toMatch(/<dd>the machine&#39;s speed held within 5 % \(/);
    expect(page).not.toContain('<small>×');
  });

  it('stands beside how well the best keeps the budget', async () => {
    const page = await thePage();
    expect(page).toMatch(/<p>It meets p99 ≤ [\d.]+ ms at concurrency \d+ \(.*? likely, \d+ % headroom.*?<\/p>/);
    expect(page).toContain('>probability of meeting the budget<');
  });
});

describe('the bars of the breakdown', () => {
  const times = { queueMs: 1, inputMs: 1, inferMs: 1, outputMs: 1, outsideMs: 1, client: null };
  const known = { ...times, client: { sendMs: 1, receiveMs: 1 } };

  it.each([
    ['no bar', [times], ['outside the server']],
    ['some bars', [times, known], ['rest outside the server', 'client send', 'client receive']],
    ['all bars', [known, known], ['network, front end', 'client send', 'client receive']],
  ])("have the client's own parts where they are known: of %s", (_, bars, outside) => {
    const svg = breakdownChart(bars.map((bar, index) => ({ name: `trial ${index}`, ...bar })))(widePaper);
    const names = [...svg.matchAll(/>([a-z][a-z, ]+)<\/text>/g)].map(([, name]) => name);
    expect(names.filter((name) => !/queue|compute|latency/.test(name as string))).toEqual(outside);
  });

  it.each([widePaper, narrowPaper])('have room for their names in a wide font, on paper $width wide', (paper) => {
    const svg = breakdownChart([
      { name: 'trial 0, original @ 16', ...times },
      { name: 'trial 1234, best @ 1024', ...times },
    ])(paper);
    const names = [...svg.matchAll(/text-anchor="end"[^>]*translate\(([\d.]+) [^>]*>(trial[^<]*)</g)];
    expect(names).toHaveLength(2);
    // DejaVu Sans, which many a machine has for sans-serif, takes 6.2 pixels for such a letter of
    // 12.
    for (const [, end, name] of names) expect(Number(end)).toBeGreaterThan(6.2 * (name as string).length);
  });
});

describe('tritune report --plots', () => {
  it('writes every chart as SVG and PNG without a server', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tritune-plots-'));
    const lines = (await studyOfMany()).map((record) => `${JSON.stringify(record)}\n`);
    await writeFile(join(directory, 'journal.jsonl'), lines.join(''));
    const { code, stdout, stderr } = await callCli(['report', directory, '--plots']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const plots = stdout.split('\n').filter((path) => path.includes('/plots/'));
    expect(plots.filter((path) => path.endsWith('.svg'))).toHaveLength(4);
    expect(plots.filter((path) => path.endsWith('.png'))).toHaveLength(4);
    for (const path of plots) {
      const bytes = await readFile(path);
      if (path.endsWith('.png')) expect(bytes.subarray(1, 4).toString()).toBe('PNG');
      else {
        expect(bytes.toString()).toMatch(/^<svg [\s\S]*<\/svg>\s*$/);
        // What to see in it, as on the page.
        const title = /<title>(.+)<\/title>/.exec(bytes.toString())?.[1] ?? '';
        expect(await thePage()).toContain(`<h3>${title}</h3>`);
        expect(bytes.toString()).toMatch(new RegExp(`<text [^>]*>${title.split(' ')[0]} `));
      }
    }
  });
});

describe('the page of models that are tuned together', () => {
  const ofPipeline = drawnOnce(() => jointRecords(pipeline, pipelineMeasured));

  it('has a table of the stages and a chart of them, for the best and the original', async () => {
    const page = await ofPipeline();
    expect(headings(page)).toContain('Models');
    const table = /<table id="stages"[^>]*>.*?<\/table>/s.exec(page)?.[0] ?? '';
    const rows = [...table.matchAll(/<tr><th scope="row"[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
      row
        .replace(/<[^>]+>/g, ' ')
        .split(/ +/)
        .join(' ')
        .trim(),
    );
    expect(rows).toEqual([
      'tokenizer best 1 0.2 0.8 2 2 13 %',
      'tokenizer original 1 0.2 0.8 2 1 27 %',
      'encoder best 1 1.2 2.8 2 2 47 % busiest',
      'encoder original 1 7.2 2.8 2 1 93 % busiest',
    ]);
    expect(page).toContain('encoder: compute');
    expect(page).not.toContain('id="fronts"');
  });

  it('predicts joint candidates, with what to move by model', async () => {
    const page = await ofPipeline();
    const [, block = ''] = /id="what-if-predictions"[^>]*>(.*?)<\/script>/s.exec(page) ?? [];
    const told = JSON.parse(block);
    expect(told).toMatchObject({ models: ['tokenizer', 'encoder'], percentile: 99 });
    expect(told.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'tokenizer/instances',
      'encoder/instances',
    ]);
    // Twice the instances serve more at the level where the original was measured.
    const at = told.levels.indexOf(8);
    const [best, original] = told.configs.map(({ cells }: { cells: (readonly number[])[] }) => cells[at]?.[0] ?? 0);
    expect(best).toBeGreaterThan(1.4 * original);
    expect(headings(page)).toContain('What if');
  });

  it('has what the clients of each model saw, against its own budget', () => {
    const constraints = [{ metric: 'latency@a', relation: '<=', value: 9 }] as const;
    const page = pageOf(jointRecords(tenants, tenantsMeasured, goalOf(null, { constraints })));
    const table = /<table id="fronts"[^>]*>.*?<\/table>/s.exec(page)?.[0].replace(/<[^>]+>/g, ' ') ?? '';
    expect(table).toMatch(/a +best +concurrency 8 +560 \(.*?\) +6 \(.*?\) +9 +0 %/);
    expect(table).toMatch(/b +original +40 requests\/s +40 \(.*?\) +24 \(.*?\) +– +0 %/);
    expect(page).toContain('a: trial 1, best @ 8');
  });
});
