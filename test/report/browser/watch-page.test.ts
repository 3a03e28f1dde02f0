import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StudyRecord } from '#study/records/records.ts';
import { Board } from '#watch/board.ts';
import type { PageOrder } from '#watch/page-controls.ts';
import { type RunningPage, servePage } from '#watch/page-server.ts';
import { fleetProgress, fleetRecords, head, windowEvent, workFor } from '../../support/watched-fleet.ts';
import { hostile, hostileStudy } from '../studies.ts';
import { launchChromium, openPage } from './chromium.ts';

const TOKEN = 'a-token-of-the-tests-only';

let browser: Browser;
let records: readonly StudyRecord[];
let page: Page;
let complaints: string[];
let board: Board;
let served: RunningPage;
let asked: [string, PageOrder][];

const serve = (port = 0, canSteer = false): Promise<RunningPage> => {
  const order = async (study: string, what: PageOrder): Promise<void> => void asked.push([study, what]);
  const controls = canSteer ? { token: TOKEN, order } : null;
  board = new Board(() => performance.now(), { canSteer });
  return servePage({ host: '127.0.0.1', port, board, controls, tell: () => undefined });
};

beforeAll(async () => {
  browser = await launchChromium();
  records = await fleetRecords();
});

afterAll(() => browser?.close());

beforeEach(async () => {
  asked = [];
  ({ page, complaints } = await openPage(browser, 'http://127.0.0.1:'));
});

afterEach(async () => {
  await page.close();
  await served.close();
});

const open = async (canSteer = false): Promise<void> => {
  served = await serve(0, canSteer);
  await page.goto(served.url);
  await shown('#state.live');
};

const shown = (selector: string): Promise<unknown> =>
  page.waitForSelector(selector, { visible: true, timeout: 20_000 });

/** Waits until the text of what the selector finds matches. */
const says = (selector: string, text: RegExp): Promise<unknown> =>
  page.waitForFunction(`${text}.test(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '')`, {
    timeout: 20_000,
  });

const textOf = (selector: string): Promise<string> => page.$eval(selector, (element) => element.textContent ?? '');

const take = (study: string, some: readonly StudyRecord[]): void => {
  for (const record of some) board.take(study, record);
};

describe('the page of studies in a browser', () => {
  it('grows while the studies do', async () => {
    await open();
    await shown('#nothing');
    board.list([head('one'), head('two', { group: 'b200' })]);
    await says('#studies', /one.*two/);
    const middle = records.findIndex((record) => record.type === 'trial-finished' && record.trial === 3);
    take('one', records.slice(0, middle + 1));
    await shown('.study[open] .front svg');
    const marks = () => page.$$eval('.front svg a', (all) => all.length);
    const first = await marks();
    expect(await textOf('.latest tbody tr td')).toBe('3');
    const work = workFor('s1', 4);
    board.progress('one', fleetProgress([work], { idle: ['s0'], held: ['s0', 's1'] }));
    for (const window of [1, 2, 3]) {
      board.heartbeat('one', { work: work.id, trial: 4, event: windowEvent(4, window, 100 * window) });
      await says('.servers', new RegExp(`s1.*measuring.*trial 4.*window ${window}: ${window}00 infer`));
    }
    expect(await page.$$eval('.servers .spark rect', (all) => all.length)).toBe(3);
    take('one', records.slice(middle + 1));
    board.progress('one', null);
    await says('.study summary', /× the original/);
    await says('.study dl', /ended.*best.*× the original/);
    await page.waitForFunction(`document.querySelectorAll('.front svg a').length > ${first}`, { timeout: 20_000 });
    await page.hover('.front svg a:last-of-type');
    expect(await textOf('.front figcaption')).toMatch(/^Trial \d+ at concurrency \d+: /);
    expect(await textOf('.study:nth-of-type(2) summary')).toContain('group b200');
    board.list([head('two')]);
    await page.waitForFunction("document.querySelectorAll('.study').length === 1");
    expect(await page.$eval('progress', (bar) => bar.checkVisibility())).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('is narrowed by study, state, server and failure, and its trials by words', async () => {
    await open();
    board.list([
      head('resnet-a'),
      head('bert-b', { group: 'b200', status: 'over' }),
      head('old', { status: 'failed' }),
    ]);
    const failing = await fleetRecords({
      speeds: [1, 1, 1],
      disturb: (outcome) =>
        outcome.work.kind === 'trial' && outcome.work.trial === 2
          ? { kind: 'lost', work: outcome.work, reason: 'its worker was killed' }
          : outcome,
    });
    take('resnet-a', records.slice(0, -4));
    take('bert-b', failing);
    await shown('.study[open] .front svg');
    await page.waitForFunction("document.querySelectorAll('.study').length === 3");
    const studies = (): Promise<readonly string[]> =>
      page.$$eval('.study:not([hidden]) summary > span', (all) => all.map((each) => each.textContent ?? ''));
    const choices = (name: string): Promise<readonly string[]> =>
      page.$$eval(`select[name="${name}"] option`, (all) => all.map((each) => each.textContent ?? ''));
    expect(await choices('state')).toEqual(['all', 'under way', 'over', 'failed']);
    expect(await choices('server')).toEqual(['all', 's0', 's1', 's2']);
    expect(await choices('failure')).toEqual(['all', 'any failure', 'server-lost']);
    await page.type('input[name="study"]', 'B200');
    expect(await studies()).toEqual(['bert-b']);
    expect(await textOf('#shown')).toBe('1 of 3 studies');
    await page.click('#narrowing button');
    await says('#shown', /^$/);
    await page.select('select[name="state"]', 'failed');
    expect(await studies()).toEqual(['old']);
    await page.select('select[name="state"]', '');
    await page.select('select[name="failure"]', 'any');
    expect(await studies()).toEqual(['bert-b']);
    await page.select('select[name="failure"]', '');
    await page.select('select[name="server"]', 's1');
    expect(await studies()).toEqual(['resnet-a', 'bert-b']);
    const servers = await page.$$eval('.study[open] .servers tbody th', (all) => all.map((each) => each.textContent));
    expect(servers).toEqual(['s1']);
    // What it is narrowed to outlives a reload.
    expect(page.url()).toMatch(/#server=s1$/);
    await page.reload();
    await page.waitForFunction("document.querySelectorAll('.study:not([hidden])').length === 2");
    expect(await page.evaluate("document.querySelector('select[name=server]').value")).toBe('s1');
    await says('.study[open] .find', /\d of \d+ trials/);
    const found = await page.$$eval('.study[open] .latest td:nth-child(2)', (all) =>
      all.map((each) => each.textContent),
    );
    expect(new Set(found)).toEqual(new Set(['s1']));
    await page.type('.study[open] .find input', 'trial 3 nothing like that');
    await says('.study[open] .find', /0 of \d+ trials/);
    expect(complaints).toEqual([]);
  });

  it('connects again by itself when its server is another one', async () => {
    await open();
    board.list([head('before')]);
    await says('#studies', /before/);
    const port = Number(new URL(served.url).port);
    await served.close();
    await shown('#state.lost');
    served = await serve(port);
    board.list([head('after')]);
    take('after', records.slice(0, 3));
    await says('#studies', /^after/);
    await shown('#state.live');
    expect(await textOf('#studies')).not.toContain('before');
  });

  it('fits wide and narrow, light and dark', async () => {
    await open(true);
    board.list([head('one'), head('over', { status: 'failed' })]);
    take('one', records.slice(0, -4));
    board.progress(
      'one',
      fleetProgress([workFor('a-server-with-a-long-name.example:8001', 4)], { held: ['s0', 's1'] }),
    );
    await shown('.front svg');
    const papers = new Set<unknown>();
    for (const value of ['light', 'dark'] as const) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      for (const width of [1280, 390]) {
        await page.setViewport({ width, height: 900 });
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${value} ${width}`).toBeLessThanOrEqual(
          width,
        );
        papers.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      }
    }
    expect(papers.size).toBe(2);
    expect(complaints).toEqual([]);
  });

  it('runs nothing that a server, a model or a person wrote', async () => {
    await open();
    const study = await hostileStudy();
    board.list([head(hostile, { group: hostile })]);
    take(hostile, study);
    board.progress(hostile, fleetProgress([workFor(hostile, 1, { assignment: { [hostile]: hostile } })]));
    await shown('.study');
    await page.evaluate("for (const each of document.querySelectorAll('.study')) each.open = true");
    await shown('.front svg');
    await says('.servers', /window\.fooled/);
    expect(await page.evaluate(() => 'fooled' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('steers a study for who has the token, and for nobody else', async () => {
    await open(true);
    board.list([head('one')]);
    take('one', records.slice(0, 3));
    await shown('.orders button');
    await page.click('.orders button');
    await says('.orders .said', /give the token first/);
    await page.type('#token', 'another-token-than-that');
    await page.click('.orders button');
    await says('.orders .said', /the token is another one/);
    await page.evaluate("document.querySelector('#token').value = ''");
    await page.type('#token', TOKEN);
    await page.click('.orders button');
    await says('.orders .said', /told/);
    page.on('dialog', (dialog) => dialog.accept());
    await page.click('.orders button:nth-of-type(4)');
    await page.waitForFunction("document.querySelector('.orders .said').textContent === 'told'");
    expect(asked).toEqual([
      ['one', { kind: 'pause' }],
      ['one', { kind: 'stop-now' }],
    ]);
    expect(page.url()).not.toContain(TOKEN);
    // A refused order is in the browser's console.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  });
});
