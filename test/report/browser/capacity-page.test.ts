import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import { capacityHtml } from '#report/capacity-page.ts';
import { aCapacity } from '../../capacity/documents.ts';
import { launchChromium, openPage } from './chromium.ts';

let browser: Browser;
let directory: string;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  directory = await mkdtemp(join(tmpdir(), 'tritune-capacity-page-'));
});

afterAll(async () => {
  await browser?.close();
  if (directory) await rm(directory, { recursive: true });
});

beforeEach(async () => {
  ({ page, complaints } = await openPage(browser, 'file:'));
});

async function open(document: CapacityDocument): Promise<void> {
  const file = join(directory, 'page.html');
  await writeFile(file, capacityHtml(document));
  await page.goto(pathToFileURL(file).href);
}

const longest: Partial<CapacityDocument> = {
  model: 'a_model_with_a_very_long_name_that_has_no_place_to_break_on_a_small_screen',
  notes: ['the time (--time-budget, 15 s) was up: the search ended there'],
  commandLine: ['capacity', '-u', `http://${'long.'.repeat(40)}example/inference`],
};

describe('the page of a capacity in a browser', () => {
  it.each([
    ['a finished run', {}],
    ['long names and a note', longest],
    ['no capacity', { outcome: 'infeasible', capacity: null, at: null, cliff: [], replicas: null, burst: null }],
    ['a stopped run', { outcome: 'interrupted', capacity: null, at: null, cliff: [], probes: [], closedLoops: [] }],
  ] satisfies [string, Partial<CapacityDocument>][])(
    'fits wide and narrow screens, light, dark and printed: %s',
    async (_, change) => {
      await open(aCapacity(change));
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
    },
  );

  it('has the verdict and its cards on the first screen, and keeps the figures of a table whole', async () => {
    await page.setViewport({ width: 1440, height: 900 });
    await open(aCapacity());
    const figuresOf = (selector: string, figure: string): Promise<number[]> =>
      page.evaluate(
        `[...document.querySelectorAll('${selector}')].map((each) => each.getBoundingClientRect().${figure})`,
      ) as Promise<number[]>;
    const cards = () => figuresOf('.card-figure', 'top');
    expect(new Set(await cards()).size).toBe(1);
    expect((await figuresOf('figure .wide', 'bottom'))[0]).toBeLessThan(900);
    await page.setViewport({ width: 390, height: 844 });
    expect(new Set(await cards()).size).toBe(3);
    // A row of figures becomes a list: no cell is off the screen.
    const rights = await figuresOf('table.numbers td', 'right');
    expect(rights.length).toBeGreaterThan(20);
    expect(Math.max(...rights)).toBeLessThanOrEqual(390);
  });

  it('can be read in the dark: text and marks stand out from the page', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await open(aCapacity());
    const contrast = (await page.evaluate(`(() => {
      const luminance = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((part) => {
          const c = Number(part) / 255;
          return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = luminance(getComputedStyle(document.body).backgroundColor);
      const ratio = (color) => (Math.max(luminance(color), paper) + 0.05) / (Math.min(luminance(color), paper) + 0.05);
      const texts = [...document.querySelectorAll('.verdict, .value, td, figcaption, .soft')];
      const labels = [...document.querySelectorAll('figure .wide text')];
      return {
        text: Math.min(...texts.map((element) => ratio(getComputedStyle(element).color))),
        label: Math.min(...labels.map((element) => ratio(getComputedStyle(element).fill))),
      };
    })()`)) as { readonly text: number; readonly label: number };
    // WCAG 2.2, success criteria 1.4.3 and 1.4.11.
    expect(contrast.text).toBeGreaterThan(4.5);
    expect(contrast.label).toBeGreaterThan(3);
  });
});
