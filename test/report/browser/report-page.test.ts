import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { jointRecords, pipeline, pipelineMeasured } from '../../support/joint-records.ts';
import { hostile, hostileStudy, studyOfMany } from '../studies.ts';
import { launchChromium, openPage } from './chromium.ts';

let browser: Browser;
let directory: string;
let page: Page;
/** What the page asked the network for, and what went wrong in it. */
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  directory = await mkdtemp(join(tmpdir(), 'tritune-page-'));
  await write('report.html', await studyOfMany());
  await write('hostile.html', await hostileStudy());
  await write('joint.html', jointRecords(pipeline, pipelineMeasured));
  await write('unfinished.html', (await studyOfMany()).slice(0, 3));
  await write('cost.html', (await studyOfMany()).map(withPrices));
});

afterAll(async () => {
  await browser?.close();
  if (directory) await rm(directory, { recursive: true });
});

async function write(name: string, records: readonly StudyRecord[]): Promise<void> {
  const state = foldStudy(records);
  await writeFile(join(directory, name), reportHtml(state, summarize(state, 'journal.jsonl'), 'name: "m"\n'));
}

beforeEach(async () => {
  ({ page, complaints } = await openPage(browser, 'file:'));
});

afterEach(() => page.close());

const open = (name = 'report.html') => page.goto(pathToFileURL(join(directory, name)).href);

const textOf = (selector: string): Promise<string> => page.$eval(selector, (element) => element.textContent ?? '');

const isVisible = (selector: string): Promise<boolean> =>
  page.$eval(selector, (element) => element.checkVisibility() && element.getBoundingClientRect().height > 0);

/** Presses Tab until the focus is on what the selector finds. */
/** The study with prices: the whole server is paid for. */
const withPrices = (record: StudyRecord): StudyRecord =>
  record.type === 'study-started'
    ? {
        ...record,
        goal: {
          ...record.goal,
          cost: { currency: 'EUR', name: 'box', per: 'server', perHour: 2, forRate: 1000, headroom: 0.1, chance: 0.95 },
        },
      }
    : record;

async function tabTo(selector: string): Promise<void> {
  for (let presses = 0; presses < 400; presses++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
  }
  throw new Error(`no Tab leads to ${selector}`);
}

describe('the report in a browser', () => {
  it.each(['report.html', 'unfinished.html', 'hostile.html', 'joint.html', 'cost.html'])(
    'loads %s from disk without the network or a complaint, wide and narrow, light, dark and printed',
    async (name) => {
      await open(name);
      const papers = new Set<string>();
      for (const value of ['light', 'dark'] as const) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
        for (const width of [1280, 400]) {
          await page.setViewport({ width, height: 900 });
          const needed = await page.evaluate('document.documentElement.scrollWidth');
          expect(needed, `${value}, ${width} wide`).toBeLessThanOrEqual(width);
          papers.add((await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string);
        }
      }
      expect(papers.size).toBe(2);
      expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
      expect(complaints).toEqual([]);
    },
  );

  it('has the verdict, the figures, the picture and what changes on the first screen', async () => {
    await page.setViewport({ width: 1440, height: 900 });
    await open();
    for (const part of ['.verdict', '.figures', '#picture .wide', '.changes'])
      expect(await page.$eval(part, (element) => element.getBoundingClientRect().bottom), part).toBeLessThan(900);
    // The cards stand side by side on a screen, one below the other on a phone.
    const tops = (): Promise<unknown[]> =>
      page.evaluate(
        `[...document.querySelectorAll('.card-figure')].map((card) => card.getBoundingClientRect().top)`,
      ) as Promise<unknown[]>;
    expect(new Set(await tops()).size).toBe(1);
    await page.setViewport({ width: 390, height: 844 });
    expect(new Set(await tops()).size).toBe(3);
    expect(complaints).toEqual([]);
  });

  it('shows the original beside the best on a phone, and all cells of other tables', async () => {
    await page.setViewport({ width: 390, height: 844 });
    await open();
    const boxes = (await page.evaluate(`[...document.querySelectorAll('.pair td, .pair thead th, .rows th, .rows td')]
      .filter((cell) => cell.checkVisibility() && cell.textContent !== '' && !cell.closest('details, thead:has(th:empty) th:empty'))
      .map((cell) => { const { left, right, top } = cell.getBoundingClientRect(); return { left, right, top, isPair: cell.closest('.pair tbody') !== null }; })`)) as {
      left: number;
      right: number;
      top: number;
      isPair: boolean;
    }[];
    expect(boxes.length).toBeGreaterThan(60);
    for (const { left, right } of boxes) {
      expect(left).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThanOrEqual(390);
    }
    const rows = Map.groupBy(
      boxes.filter(({ isPair }) => isPair),
      ({ top }) => top,
    );
    expect(new Set([...rows.values()].map(({ length }) => length))).toEqual(new Set([2]));
    expect(complaints).toEqual([]);
  });

  it.each([390, 1280])('draws no text of the picture over another, %i wide', async (width) => {
    await page.setViewport({ width, height: 900 });
    await open();
    const texts = (await page.evaluate(`[...document.querySelectorAll('#picture svg')]
      .filter((svg) => svg.checkVisibility())
      .flatMap((svg) => [...svg.querySelectorAll('text')])
      .map((text) => ({ words: text.textContent, box: text.getBoundingClientRect().toJSON() }))`)) as {
      words: string;
      box: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
    }[];
    expect(texts.filter(({ words }) => /^(best|budget|your config)\b/.test(words)).length).toBeGreaterThanOrEqual(3);
    const overlapping = texts.flatMap(({ words, box }, index) =>
      texts
        .slice(index + 1)
        .filter(
          ({ box: other }) =>
            box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom,
        )
        .map((other) => `${words} over ${other.words}`),
    );
    expect(overlapping).toEqual([]);
  });

  it('draws hollow marks hollow on dark paper too', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await open();
    const fills = (await page.evaluate(
      `[...document.querySelectorAll('#front [fill="#fff"]')].map((mark) => getComputedStyle(mark).fill)`,
    )) as string[];
    expect(fills.length).toBeGreaterThan(1);
    expect(new Set(fills)).toEqual(new Set([await page.evaluate('getComputedStyle(document.body).backgroundColor')]));
  });

  it('shows what configs cost at a rate, and at another one as the slider moves', async () => {
    await open('cost.html');
    expect(await textOf('#cost-words')).toMatch(/^1,000 infer\/s cost [\d.]+ EUR an hour at least: \d+ × trial \d+/);
    const replicas = () =>
      page.$$eval('#cost-table tbody tr', (rows) =>
        rows.map((each) => Number(each.children[3]?.textContent?.replace(',', ''))),
      );
    const before = await replicas();
    expect(await page.$$eval('#cost-table tr.here', (rows) => rows.length)).toBe(1);
    await page.evaluate(`{
      const input = document.querySelector('#cost-controls input');
      input.value = input.max;
      input.dispatchEvent(new Event('input'));
    }`);
    expect(Math.min(...(await replicas()))).toBeGreaterThan(Math.max(...before));
    expect(await textOf('#cost-words')).not.toMatch(/^1,000 /);
    await page.click('#cost-controls button');
    expect(await replicas()).toEqual(before);
    expect(complaints).toEqual([]);
  });

  it('runs nothing that a server, a model or a person wrote', async () => {
    await open('hostile.html');
    // Line separators are left out.
    const shown = hostile.replaceAll(/[\u2028\u2029]/g, '');
    expect(await page.title()).toBe(`tritune: ${shown}`);
    expect(await textOf('h1')).toContain(shown);
    expect(await page.evaluate(() => 'fooled' in globalThis)).toBe(false);
    // Whatever else might get in is stopped by the page's policy.
    await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'globalThis.fooled = 1';
      document.body.append(script);
    }`);
    expect(await page.evaluate(() => 'fooled' in globalThis)).toBe(false);
    expect(complaints.join()).toContain('Content Security Policy');
  });

  it('tells of a point that the keyboard or the pointer is on', async () => {
    await open();
    const first = await textOf('#point h3');
    await tabTo('#front a');
    const label = await page.evaluate("document.activeElement.getAttribute('aria-label')");
    expect(label).toMatch(/^Trial \d+ at concurrency \d+: /);
    expect(await textOf('#point h3')).toBe(label);
    const links = await page.$$('#front .wide a');
    const last = links.at(-1);
    if (!last) throw new Error('no points');
    await last.hover();
    expect(await textOf('#point h3')).toBe(await last.evaluate((link) => link.getAttribute('aria-label')));
    expect(first).not.toBe(label);
    const shown = await textOf('#point');
    for (const part of ['max_batch_size', 'p99, ms', 'queue', 'compute', 'throughput']) expect(shown).toContain(part);
  });

  it('leads from a point to all levels of its trial', async () => {
    await open();
    await tabTo('#front a');
    const card = await page.$eval('#point p a', (link) => link.getAttribute('href') ?? '');
    expect(await page.$eval(card, (element) => element.hasAttribute('open'))).toBe(false);
    await page.click('#point p a');
    await page.waitForSelector(`${card}[open]`);
    expect(await isVisible(`${card} table`)).toBe(true);
  });

  it('answers to every control of what if with what is embedded', async () => {
    await open();
    const start = await textOf('#what-if-words');
    const told = JSON.parse(await textOf('#what-if-predictions'));
    const options = await page.$$eval('#what-if-controls select', (all) => all.map((select) => select.options.length));
    expect(options).toEqual(told.parameters.map(({ values }: { values: string[] }) => values.length));
    const best = told.configs[0].trial;
    const [, throughput, latencyMs] = told.measured[best].find(
      ([level]: number[]) => level === told.levels[told.level],
    );
    const digits = (value: number) =>
      value >= 999.5 ? Math.round(value).toLocaleString('en-US') : `${Number(value.toPrecision(3))}`;
    expect(start).toContain(`Measured as trial ${best}: ${digits(throughput)} infer/s, p99 ${digits(latencyMs)} ms.`);
    await page.select('#what-if-controls select', '0');
    expect(await page.$eval('#what-if-controls select', (select) => select.value)).toBe('0');
    expect(await textOf('#what-if-table caption')).toContain(
      `${told.parameters[0].name}=${told.parameters[0].values[0]}`,
    );
    expect(await textOf('#what-if-words')).not.toBe(start);
    const slider = '#what-if-controls input';
    await page.focus(slider);
    await page.keyboard.press('Home');
    expect(await textOf('#what-if-table tr.here td')).toBe(String(told.levels[0]));
    const budget = (await page.$$(slider))[1];
    await budget?.focus();
    await page.keyboard.press('Home');
    expect(await textOf('#what-if-words')).toContain('over the budget');
    expect(await textOf('#what-if-words')).toContain('No config here is predicted to meet');
    expect(await textOf('#what-if-figure h3')).toMatch(/ is not expected to meet p99 ≤ [\d.]+ ms at any level$/);
    await page.keyboard.press('End');
    expect(await textOf('#what-if-words')).toContain('within the budget');
    await page.click('#what-if-controls button');
    expect(await textOf('#what-if-words')).toBe(start);
    expect(await isVisible('#what-if-chart svg')).toBe(true);
    expect(await textOf('#what-if-figure h3')).toMatch(
      /^(Trial \d+|Your config) is expected to meet p99 ≤ [\d.]+ ms up to concurrency \d+/,
    );
    expect(complaints).toEqual([]);
  });

  it('has the controls of each model of a pipeline in a group, with sliders for numbers', async () => {
    await open('joint.html');
    const groups = await page.$$eval('#what-if-controls fieldset', (all) => all.map((each) => each.textContent ?? ''));
    expect(groups).toEqual(['tokenizerinstances: 2', 'encoderinstances: 2']);
    const start = await textOf('#what-if-words');
    const sliders = await page.$$('#what-if-controls fieldset input[type=range]');
    expect(sliders).toHaveLength(2);
    await sliders[1]?.focus();
    await page.keyboard.press('Home');
    expect(await textOf('#what-if-controls fieldset:nth-of-type(2)')).toContain('instances: 1');
    expect(await textOf('#what-if-words')).not.toBe(start);
    expect(await isVisible('#stages')).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('can be read without its script', async () => {
    await page.setJavaScriptEnabled(false);
    await open();
    expect(await isVisible('#what-if-controls')).toBe(false);
    expect(await isVisible('#what-if-table')).toBe(true);
    expect(await textOf('#what-if-table tbody')).toMatch(/\d/);
    const [first] = await page.$$('#front .wide a');
    const target = await first?.evaluate((link) => link.getAttribute('href') ?? '');
    await first?.click();
    await page.waitForSelector(target ?? '', { visible: true });
  });
});
