import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ServiceExplanation } from '#explain/explanation.ts';
import { explanationHtml } from '#report/explain-page.ts';
import { aScaling } from '../../autoscale/documents.ts';
import { anExplanation } from '../../explain/documents.ts';
import { launchChromium, openPage } from './chromium.ts';

let browser: Browser;
let directory: string;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  directory = await mkdtemp(join(tmpdir(), 'tritune-explain-page-'));
});

afterAll(async () => {
  await browser?.close();
  if (directory) await rm(directory, { recursive: true });
});

beforeEach(async () => {
  ({ page, complaints } = await openPage(browser, 'file:'));
});

async function open(explanation: ServiceExplanation): Promise<void> {
  const file = join(directory, 'page.html');
  await writeFile(file, explanationHtml(explanation));
  await page.goto(pathToFileURL(file).href);
}

const [model] = anExplanation.models as [ServiceExplanation['models'][number]];
const sizes = [1, 2, 3, 7].map((size) => ({ size, executions: 100, meanExecutionMs: 3 + size }));
const hostile = '<img src=x onerror=window.fooled=1>_a_name_that_has_no_place_to_break_on_a_small_screen';

describe('the page of an explanation in a browser', () => {
  it.each([
    ['one model', anExplanation],
    [
      'several models and an autoscaler',
      {
        ...anExplanation,
        models: [
          { ...model, batches: { ...model.batches, sizes } },
          { ...model, model: hostile, proposal: null },
        ],
        idle: [hostile],
        autoscalers: [aScaling],
      },
    ],
    [
      'a model that is not simulated',
      { ...anExplanation, models: [{ ...model, present: null, proposal: null, settle: null }] },
    ],
    ['no model', { ...anExplanation, models: [] }],
  ] satisfies [string, ServiceExplanation][])(
    'fits wide and narrow screens, light, dark and printed: %s',
    async (_, explanation) => {
      await open(explanation);
      for (const value of ['light', 'dark'] as const) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
        for (const width of [1280, 390]) {
          await page.setViewport({ width, height: 844 });
          const needed = await page.evaluate('document.documentElement.scrollWidth');
          expect(needed, `${value}, ${width} wide`).toBeLessThanOrEqual(width);
        }
      }
      expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
      expect(complaints).toEqual([]);
      expect(await page.evaluate('globalThis.fooled')).toBeUndefined();
    },
  );

  it('has the cause and the cards on the first screen', async () => {
    await page.setViewport({ width: 1440, height: 900 });
    await open(anExplanation);
    const text = (selector: string): Promise<string> =>
      page.evaluate(`document.querySelector('${selector}').textContent`) as Promise<string>;
    expect(await text('.verdict')).toContain('Requests wait for batches that do not fill (delay-never-fills, sure)');
    expect(await text('.figures')).toContain('2,757 requests/s');
    const bottom = await page.evaluate(`document.querySelector('.figures').getBoundingClientRect().bottom`);
    expect(bottom).toBeLessThan(600);
  });
});
