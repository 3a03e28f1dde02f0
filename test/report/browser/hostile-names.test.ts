import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import { summarize } from '#study/summary/summary.ts';
import { Board } from '#watch/board.ts';
import { servePage } from '#watch/page-server.ts';
import { hostileRecords } from '../../support/hostile-study.ts';
import { fleetProgress, head, workFor } from '../../support/watched-fleet.ts';
import { launchChromium, openPage } from './chromium.ts';

const RUNS = 30;

/**
 * Pieces of markup, scripts and data that end what they stand in, or would run, wherever they were
 * taken for more than text.
 */
const PIECES = [
  ...['<script>window.fooled=1</script>', '</script>', '<img src=x onerror=window.fooled=1>', '<svg/onload=fooled=1>'],
  ...[
    '"><b id=fooled>',
    "' onfocus=window.fooled=1 autofocus x='",
    '<!--',
    '-->',
    ']]>',
    '</style>',
    '</title>',
    '<base',
  ],
  ...[
    '&lt;script&gt;',
    '&#60;',
    '&amp',
    '\\u003cscript>',
    '\\"};window.fooled=1;//',
    '$'.concat('{window.fooled=1}'),
    '{{7*7}}',
  ],
  ...[
    'javascript:window.fooled=1',
    'data:text/html,<script>',
    '%3Cscript%3E',
    '\u202e',
    '\u2028',
    '\u0000',
    '\r\n',
    '\u001b[2J',
  ],
  ...['__proto__', 'constructor', 'toString', 'a b', 'é中😀', '<'],
];

const hostileText = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: 'binary', maxLength: 8 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => `fooled ${pieces.join('').toWellFormed()}`);

/**
 * What a page consists of: its elements, counted by name, and the attributes that run or load
 * something.
 */
const STRUCTURE = `(() => {
  const counts = {};
  const active = [];
  for (const element of document.querySelectorAll('*')) {
    counts[element.localName] = (counts[element.localName] ?? 0) + 1;
    for (const { name, value } of element.attributes)
      if (name.startsWith('on') || (/^(href|src|action)$/.test(name) && /^\\s*(javascript|data):/i.test(value)))
        active.push(name + '=' + value);
  }
  return { counts, active, isFooled: 'fooled' in globalThis && typeof globalThis.fooled === 'number' };
})()`;

let browser: Browser;
let directory: string;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  directory = await mkdtemp(join(tmpdir(), 'tritune-names-'));
});

afterAll(async () => {
  await browser?.close();
  await rm(directory, { recursive: true });
});

afterEach(() => page.close());

describe('the report', () => {
  beforeEach(async () => {
    ({ page, complaints } = await openPage(browser, 'file:'));
  });

  const structureWith = async (text: string): Promise<unknown> => {
    const state = foldStudy(hostileRecords(text));
    const file = join(directory, 'report.html');
    await writeFile(file, reportHtml(state, summarize(state, text), `name: ${JSON.stringify(text)}\n`));
    await page.goto(pathToFileURL(file).href);
    return page.evaluate(STRUCTURE);
  };

  it('has the same elements whatever the names are, and runs none of them', { timeout: 120_000 }, async () => {
    const plain = await structureWith('fooled');
    expect(plain).toMatchObject({ active: [], isFooled: false });
    await fc.assert(
      fc.asyncProperty(hostileText, async (text) => {
        expect(await structureWith(text)).toEqual(plain);
        expect(await page.title()).toMatch(/^tritune: fooled/);
        expect(complaints).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('the page of studies', () => {
  beforeEach(async () => {
    ({ page, complaints } = await openPage(browser, 'http://127.0.0.1:'));
  });

  const structureWith = async (text: string): Promise<unknown> => {
    const board = new Board(() => 0, { canSteer: false });
    const served = await servePage({ host: '127.0.0.1', port: 0, board, controls: null, tell: () => undefined });
    try {
      board.list([head(text, { group: text })]);
      for (const record of hostileRecords(text)) board.take(text, record);
      board.progress(text, fleetProgress([workFor(text, 1, { assignment: { [text]: text } })]));
      await page.goto(served.url);
      await page.waitForSelector('.study', { timeout: 20_000 });
      await page.evaluate("for (const each of document.querySelectorAll('.study')) each.open = true");
      await page.waitForSelector('.front svg', { timeout: 20_000 });
      await page.waitForFunction("/fooled/.test(document.querySelector('.servers')?.textContent ?? '')");
      return await page.evaluate(STRUCTURE);
    } finally {
      // Its stream of events would be cut off.
      await page.goto('about:blank');
      await served.close();
    }
  };

  it('has the same elements whatever the names are, and runs none of them', { timeout: 120_000 }, async () => {
    const plain = await structureWith('fooled');
    expect(plain).toMatchObject({ active: [], isFooled: false });
    await fc.assert(
      fc.asyncProperty(hostileText, async (text) => {
        expect(await structureWith(text)).toEqual(plain);
        expect(complaints).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
