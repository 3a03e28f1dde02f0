import { describe, expect, it } from 'vitest';
import { advance, type Guide, type GuideEvent, initialGuide, listArguments, type ServerChoice } from '#tui/guide.ts';
import { guideRows, mostMoved } from '#tui/guide-rows.ts';
import { measureWidth } from '#tui/rows.ts';

const emulator: ServerChoice = { options: ['--launch', 'emulator:demo'], name: 'emulated' };
const servers: GuideEvent = {
  type: 'servers',
  servers: [{ options: ['-u', 'localhost:8001'], name: 'triton 2.51.0' }, emulator],
};
const models: GuideEvent = {
  type: 'models',
  models: [
    { name: 'resnet', state: 'READY', backend: 'onnxruntime' },
    { name: "it's", state: 'UNAVAILABLE', backend: '' },
  ],
};
const enter: GuideEvent = { type: 'enter' };
const typed = (text: string): GuideEvent => ({ type: 'typed', text });
const guideAfter = (...events: readonly GuideEvent[]): Guide => events.reduce(advance, initialGuide);
const textOf = (guide: Guide): string =>
  guideRows(guide, { columns: 80, rows: 24 })
    .map((line) => line.map(({ text }) => text).join(''))
    .join('\n');

describe('the guided start', () => {
  it('asks for server, model and budget, and shows what it would do', () => {
    expect(initialGuide.waiting).toMatch(/looking for a server/);
    const asked = guideAfter(servers, enter);
    expect(asked).toMatchObject({ step: 'model', waiting: expect.stringMatching(/models/) });
    const budget = advance(advance(asked, models), enter);
    expect(budget).toMatchObject({ step: 'budget', model: 'resnet', waiting: null });
    const plan = [typed('8'), typed('.'), typed('5'), enter].reduce(advance, budget);
    expect(plan).toMatchObject({ step: 'plan', budgetMs: 8.5, waiting: expect.any(String) });
    const ready = advance(plan, { type: 'plan', lines: ['784 legal assignments', 'expected: 3 min'] });
    expect(listArguments(ready)).toEqual(['tune', '-m', 'resnet', '-u', 'localhost:8001', '--latency-budget', '8.5']);
    expect(textOf(ready)).toContain('expected: 3 min');
    expect(textOf(ready)).toContain('tritune tune -m resnet -u localhost:8001 --latency-budget 8.5');
  });

  it('takes an address by hand', () => {
    expect(textOf(guideAfter(servers))).toContain('or type HOST:PORT');
    expect(listArguments(guideAfter(servers, typed('gpu-box:9001'), enter))).toEqual(['tune', '-u', 'gpu-box:9001']);
  });

  it('offers the emulator, with a budget that suits its model', () => {
    const nothing = guideAfter({ type: 'servers', servers: [emulator] });
    expect(textOf(nothing)).toContain('No server answers on the usual ports. Choose the emulator');
    expect(textOf(nothing)).toContain('tritune tune --launch emulator:demo\n');
    const emulated: GuideEvent = {
      type: 'models',
      models: [{ name: 'yolov7', state: 'READY', backend: 'tensorrt', budgetMs: 50 }],
    };
    const budget = [enter, emulated, enter].reduce(advance, nothing);
    expect(budget).toMatchObject({ step: 'budget', text: '50' });
    expect(listArguments(advance(budget, enter))).toEqual([
      ...['tune', '-m', 'yolov7', '--launch', 'emulator:demo', '--latency-budget', '50'],
    ]);
  });

  it('goes without a budget when none is typed, and refuses what is none', () => {
    const budget = guideAfter(servers, enter, models, { type: 'move', by: 1 }, enter);
    expect(advance(budget, enter)).toMatchObject({ step: 'plan', budgetMs: null });
    expect(listArguments(advance(budget, enter))).toEqual(['tune', '-m', "it's", '-u', 'localhost:8001']);
    expect(textOf(advance(budget, enter))).toContain("-m 'it'\\''s'");
    expect([typed('-'), typed('1'), enter].reduce(advance, budget)).toMatchObject({
      step: 'budget',
      fault: expect.any(String),
    });
  });

  it('goes back with the reason when something fails, and takes no answers while it waits', () => {
    const waiting = guideAfter(servers, enter);
    expect(advance(waiting, enter)).toBe(waiting);
    const failed = advance(waiting, { type: 'failed', reason: 'nothing answers at localhost:8001' });
    expect(failed).toMatchObject({ step: 'server', waiting: null });
    expect(textOf(failed)).toContain('nothing answers');
    expect(advance(advance(waiting, models), { type: 'back' }).step).toBe('server');
  });

  it('shows models that serve first, and gives back what was typed when a person goes back', () => {
    const unordered: GuideEvent = { ...models, models: [...models.models].reverse() };
    const asked = guideAfter(servers, typed('gpu-box:9001'), enter, unordered);
    expect(asked.models.map(({ state }) => state)).toEqual(['READY', 'UNAVAILABLE']);
    expect(advance(asked, { type: 'back' })).toMatchObject({ step: 'server', text: 'gpu-box:9001' });
    const planned = [enter, typed('20'), enter].reduce(advance, asked);
    expect(advance(planned, { type: 'failed', reason: 'it went away' })).toMatchObject({ step: 'budget', text: '20' });
    const chosen = guideAfter(servers, enter, models);
    expect(advance(chosen, { type: 'back' })).toMatchObject({ step: 'server', text: '' });
  });

  it('says the command of what is pointed at or typed now', () => {
    expect(textOf(initialGuide)).toMatch(/tritune tune\n/);
    expect(textOf(guideAfter(servers))).toContain('tritune tune -u localhost:8001\n');
    expect(textOf(guideAfter(servers, typed('gpu-box:9001')))).toContain('tritune tune -u gpu-box:9001\n');
    const asked = guideAfter(servers, enter, models, { type: 'move', by: 1 });
    expect(textOf(asked)).toContain("tritune tune -m 'it'\\''s' -u localhost:8001\n");
    const budget = [enter, typed('1'), typed('2')].reduce(advance, asked);
    expect(textOf(budget)).toContain('--latency-budget 12\n');
    expect(textOf(advance(budget, typed('.1.')))).not.toContain('--latency-budget');
  });

  it('keeps the model that is pointed at in sight, however many there are', () => {
    const repository = Array.from({ length: 80 }, (_, at) => ({
      name: `model_${at}`,
      state: 'READY',
      backend: 'onnx',
    }));
    const asked = guideAfter(servers, enter, { type: 'models', models: repository });
    const at = advance(asked, { type: 'move', by: 57 });
    expect(textOf(at)).toContain('› model_57 ');
    expect(textOf(at)).toContain('… 58 of 80');
    expect(guideRows(at, { columns: 80, rows: 24 }).length).toBeLessThanOrEqual(24);
  });

  it('fits the screen', () => {
    const many = Array.from({ length: 60 }, (_, index) => `parameter ${index} ${'x'.repeat(90)}`);
    const plan = advance(guideAfter(servers, enter, models, enter, enter), { type: 'plan', lines: many });
    const rows = guideRows(plan, { columns: 80, rows: 24 });
    expect(rows.length).toBeLessThanOrEqual(24);
    expect(Math.max(...rows.map(measureWidth))).toBeLessThanOrEqual(80);
    expect(textOf(plan)).toContain('Enter start');
    expect(textOf(plan)).toMatch(/… \d+ more, press ↓/);
    const most = mostMoved(plan, { columns: 80, rows: 24 });
    const down = (guide: Guide, by: number) => advance(guide, { type: 'move', by, most });
    expect(textOf(plan)).toContain('parameter 0\n');
    expect(textOf(down(plan, 2))).not.toContain('parameter 0\n');
    const end = down(plan, 1000);
    expect(textOf(end)).toMatch(/parameter 59\n +x+\n +x+\n.*the end/);
    expect(textOf(down(end, -1))).toMatch(/… 1 more,/);
    expect(guideRows(end, { columns: 80, rows: 24 })).toHaveLength(rows.length);
    const short = { ...plan, plan: ['parameters:', `  instances ${'1, '.repeat(40)}2`] };
    expect(textOf(short)).toMatch(/\n {2}parameters:\n {4}instances 1.*\n {4}1, /);
  });
});
