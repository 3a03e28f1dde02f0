import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { openTui, type Tui } from '#tui/open.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { TunerCommands } from '#tuner/steering.ts';
import { midRun, recordedRun, viewAfter } from './recorded.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

// Ink's colours look at the test runner's own output, which is no terminal.
vi.hoisted(() => {
  process.env.FORCE_COLOR = '1';
});

const events = await recordedRun();
const sizes = [
  [80, 24],
  [120, 40],
  [200, 60],
] as const;

const [DOWN, RIGHT] = ['\u001b[B', '\u001b[C'];

interface Shown {
  readonly tui: Tui;
  readonly terminal: VirtualTerminal;
  readonly asked: string[];
  press(...keys: readonly string[]): Promise<void>;
}

let open: Tui | null = null;
afterEach(() => {
  open?.close();
  open = null;
});

/** The screen in a virtual terminal after some events; elapsed time stands still. */
async function shown(some: readonly TunerEvent[], columns = 80, rows = 24, hasColours = true): Promise<Shown> {
  const terminal = new VirtualTerminal({ columns, rows });
  const { stdin } = terminal;
  const asked: string[] = [];
  const note = (name: string) => (value?: unknown) =>
    void asked.push(value === undefined ? name : `${name} ${JSON.stringify(value)}`);
  const commands: TunerCommands = {
    pause: note('pause'),
    resume: note('resume'),
    skipTrial: note('skip'),
    stopSearch: note('stop'),
    changeBudget: note('budget'),
    narrow: note('narrow'),
    enqueue: note('enqueue'),
    withdraw: note('withdraw'),
  };
  const tui = openTui({
    stdin,
    stdout: terminal.stdout,
    hasColours,
    earlier: [],
    commands,
    interrupt: note('interrupt'),
    exportConfig: async ({ number }) => `trial-${number}/config.pbtxt`,
    nowMs: () => 0,
  });
  open = tui;
  for (const event of some) tui.onEvent(event);
  await tui.settled();
  return {
    tui,
    terminal,
    asked,
    press: async (...keys) => {
      for (const key of keys) {
        stdin.push(key);
        await read(key);
        await tui.settled();
      }
    },
  };
}

/** Input is read on the next turn; after an escape Ink waits for the rest of a sequence. */
const read = (key: string): Promise<void> => new Promise((done) => setTimeout(done, key === '\u001b' ? 150 : 5));

const textOf = async ({ terminal }: Shown): Promise<string> => `${(await terminal.lines()).join('\n')}\n`;

const bestOf = (some: readonly TunerEvent[]): Measurement | undefined => {
  const best = viewAfter(some).study?.best;
  return best?.measurements[best.chosen ?? 0];
};

describe('a frame', () => {
  it.each(sizes)('shows a search under way at %i × %i', async (columns, rows) => {
    const screen = await shown(midRun(events), columns, rows);
    await expect(await textOf(screen)).toMatchFileSnapshot(`frames/search-${columns}x${rows}.txt`);
    expect(screen.terminal.isAlternate).toBe(true);
  });

  it.each(sizes)('shows the end at %i × %i', async (columns, rows) => {
    const screen = await shown(events, columns, rows);
    screen.tui.end('the run has ended; its files are in runs/m');
    await screen.tui.settled();
    await expect(await textOf(screen)).toMatchFileSnapshot(`frames/end-${columns}x${rows}.txt`);
  });

  it('says how far a search is that ends by itself, and in which round the final is', async () => {
    const isStart = (event: TunerEvent) => event.type === 'study-started';
    const byItself = events.map((event) => (isStart(event) ? { ...event, sampler: 'queueing' } : event) as TunerEvent);
    const unlimited: TunerEvent = { type: 'limits', maxTrials: null, timeBudgetSeconds: null, usualSeconds: null };
    const searching = await shown([...midRun(byItself), unlimited]);
    expect((await searching.terminal.lines())[3]).toMatch(/^█+.* +▏4 of ~9 trials · 47 s · about \d.* left · 1 failed/);
    const known = await shown([...midRun(byItself), { ...unlimited, usualSeconds: 60 }]);
    expect((await known.terminal.lines())[3]).toMatch(/▏4 of ~9 trials · 47 s · about 13 s left · 1 failed/);
    const at = byItself.findIndex((event) => event.type === 'final-measured' && event.round === 2);
    const inFinal = await shown([...byItself.slice(0, at), unlimited]);
    expect((await inFinal.terminal.lines())[3]).toMatch(/▏6 trials · final, round 2 · /);
  });

  it('marks what met the goal by luck, as the sampler sees it, and shows another as the best', async () => {
    const [third] = viewAfter(midRun(events)).study?.trials.slice(3) ?? [];
    const readings = (third?.measurements ?? []).map((_, reading) => ({ trial: 3, reading }));
    const screen = await shown([...midRun(events), { type: 'readings-doubted', at: '2026-01-01T00:01:00Z', readings }]);
    const text = await textOf(screen);
    expect(text).toMatch(/^best +★ trial 2: /m);
    expect(text).toMatch(/^ +3 \? +330 /m);
    await screen.press('\u001b[B', '\r');
    expect(await textOf(screen)).toMatch(/─ Trial 3 ─+ meets the goal, but is doubtful ─/);
  });

  it('marks the figures of the final, in the table and beside each other', async () => {
    const screen = await shown(events, 80, 50);
    screen.tui.end('ended');
    await screen.press('\u001b[H', 'c', '\u001b[B', '\r');
    expect(await textOf(screen)).toMatch(/infer\/s +140†→ +110 {2}-21\.\d %/);
    await screen.press('\r', '\u001b[B', '\u001b[B', '\r');
    const text = await textOf(screen);
    expect(text).toMatch(/infer\/s +140†→ +330† \+136 %/);
    // What the legend says of its parts is said of a bar that stands there.
    expect(text).toMatch(/mean latency, ms\n.* 4[ †]·/);
  });

  it('shows one trial, the help and a failed trial at 80 × 24', async () => {
    const screen = await shown(midRun(events));
    await screen.press('\r');
    await expect(await textOf(screen)).toMatchFileSnapshot('frames/trial-80x24.txt');
    await screen.press('?');
    await expect(await textOf(screen)).toMatchFileSnapshot('frames/help-80x24.txt');
    await screen.press('\u001b[F', '\r');
    await expect(await textOf(screen)).toMatchFileSnapshot('frames/failed-trial-80x24.txt');
  });

  it.each(sizes)('shows what is searched, and a candidate by hand, at %i × %i', async (columns, rows) => {
    const stamp = { at: '2026-01-01T00:01:00.000Z', runMs: 60_000 };
    const wish = {
      assignment: { max_batch_size: 8, queue_delay_us: 500, instances: 2 },
      levels: { kind: 'search' },
    } as const;
    const steered: readonly TunerEvent[] = [
      ...midRun(events),
      {
        type: 'space-narrowed',
        ...stamp,
        narrowing: { instances: { excluded: [1, 4] }, max_batch_size: { pinned: 8 } },
      },
      { type: 'trial-requested', ...stamp, ...wish },
    ];
    const screen = await shown(steered, columns, rows);
    await expect(await textOf(screen)).toMatchFileSnapshot(`frames/steered-${columns}x${rows}.txt`);
    await screen.press('n', DOWN, DOWN, RIGHT);
    await expect(await textOf(screen)).toMatchFileSnapshot(`frames/space-${columns}x${rows}.txt`);
    await screen.press('n', 't', RIGHT, RIGHT, DOWN, DOWN, RIGHT);
    await expect(await textOf(screen)).toMatchFileSnapshot(`frames/hand-${columns}x${rows}.txt`);
  });

  it.each(sizes)(
    'draws the front that the sampler predicts, until the search is over, at %i × %i',
    async (columns, rows) => {
      const { throughput, budgetLatencyMs } = bestOf(midRun(events)) ?? {};
      const at = (share: number) => ({
        throughput: (throughput?.value ?? 0) * share,
        latencyMs: (budgetLatencyMs?.value ?? 0) * share,
      });
      const foreseen = [at(0.2), at(0.5), at(0.9), at(1.2), at(9)];
      const proposed: TunerEvent = { type: 'proposed', assignment: {}, expectedGain: 0.2, chance: 0.9, foreseen };
      const screen = await shown([...midRun(events), proposed], columns, rows);
      await expect(await textOf(screen)).toMatchFileSnapshot(`frames/predicted-${columns}x${rows}.txt`);
      const end = await shown([...midRun(events), proposed, ...events.slice(midRun(events).length)], columns, rows);
      expect(await textOf(end)).toBe(await textOf(await shown(events, columns, rows)));
    },
  );

  it('shows the panels where the terminal is as small as can be', async () => {
    const screen = await shown(midRun(events), 60, 16);
    await screen.press('n', DOWN, DOWN, RIGHT, RIGHT, RIGHT);
    const lines = await screen.terminal.lines();
    expect(lines.find((line) => line.startsWith('› instances'))).toMatch(/\[ 4]$/);
    expect(lines[15]).toMatch(/Enter pin .*Esc close/);
  });

  it('follows the size of the terminal, up to one that is too small, and back', async () => {
    const screen = await shown(midRun(events), 120, 40);
    const large = await textOf(screen);
    screen.terminal.resize({ columns: 50, rows: 10 });
    await vi.waitFor(async () => expect((await textOf(screen)).split('\n')[0]).toBe('window too small: 60×16 needed'));
    screen.terminal.resize({ columns: 120, rows: 40 });
    await vi.waitFor(async () => expect(await textOf(screen)).toBe(large));
  });

  it('has colours, and says the same without', async () => {
    const coloured = await shown(midRun(events));
    const text = await textOf(coloured);
    expect(coloured.terminal.hasColours()).toBe(true);
    coloured.tui.close();
    const plain = await shown(midRun(events), 80, 24, false);
    expect(await textOf(plain)).toBe(text);
    expect(plain.terminal.hasColours()).toBe(false);
  });

  it('is drawn when keys are no longer echoed', async () => {
    const { terminal } = await shown([]);
    expect(terminal.written).not.toBe('');
    expect(terminal.writtenBeforeRaw).toBe('');
  });

  it('is not torn by what libraries print, and gives the terminal back', async () => {
    const screen = await shown(midRun(events));
    const before = await textOf(screen);
    // biome-ignore lint/suspicious/noConsole: a library's
    console.error('a warning of some library');
    await screen.tui.settled();
    screen.tui.onEvent({ type: 'limits', maxTrials: 6, timeBudgetSeconds: null, usualSeconds: null });
    await screen.tui.settled();
    expect(await textOf(screen)).toBe(before);
    screen.tui.close();
    await screen.tui.settled();
    await screen.terminal.lines();
    expect(screen.terminal.isAlternate).toBe(false);
    expect(screen.terminal.written).toContain('\u001b[?25h');
  });

  it('draws no frame while nothing happens, and few while much does', async () => {
    const screen = await shown(midRun(events));
    const { length } = screen.terminal.written;
    await screen.tui.settled();
    expect(screen.terminal.written.length).toBe(length);
    let frames = 0;
    const { write } = screen.terminal.stdout;
    screen.terminal.stdout.write = ((...args: Parameters<typeof write>) => {
      if (String(args[0]).includes('window')) frames++;
      return write.apply(screen.terminal.stdout, args);
    }) as typeof write;
    const last = midRun(events).at(-1) as Extract<TunerEvent, { type: 'progress' }>;
    for (let window = 3; window < 60; window++) {
      screen.tui.onEvent({ ...last, progress: { ...last.progress, window } as typeof last.progress });
    }
    await screen.tui.settled();
    expect(frames).toBeLessThan(5);
    expect((await screen.terminal.lines())[2]).toContain('window 59');
  });
});

describe('keys', () => {
  it('steer the run', async () => {
    const screen = await shown(midRun(events));
    await screen.press('p', 'ps', 'b', '\u007f', '\u007f2', '5\r', 'r', 'q', 'k', 'q', 'y');
    expect(screen.asked).toEqual([
      'pause',
      'resume',
      'skip',
      'budget 25',
      expect.stringMatching(/^enqueue .*"fixed"/),
      'stop',
      'interrupt',
    ]);
  });

  it.each([60, 80])('ask how to end the run at %i columns', async (columns) => {
    const screen = await shown(midRun(events), columns);
    await screen.press('q');
    const lines = await screen.terminal.lines();
    expect(lines.slice(22).map((line) => line.trimEnd())).toEqual([
      ' End the run?',
      ' k keep the best  y quit now  Esc continue',
    ]);
  });

  it('narrow the search, each change from the one before it, and refuse to leave nothing', async () => {
    const screen = await shown(midRun(events));
    await screen.press('n', ' ', RIGHT, ' ');
    expect(screen.asked).toEqual([
      'narrow {"max_batch_size":{"excluded":[1]}}',
      'narrow {"max_batch_size":{"excluded":[1,4]}}',
    ]);
    expect((await screen.terminal.lines())[22]).toBe(' max_batch_size=4 is excluded from the next trial on');
    await screen.press(RIGHT, ' ');
    expect(screen.asked).toHaveLength(2);
    expect((await screen.terminal.lines())[22]).toMatch(/no candidate would be left/);
    await screen.press('\u007f');
    expect(screen.asked.at(-1)).toBe('narrow {}');
  });

  it('try candidates by hand, and say why one is not legal', async () => {
    const screen = await shown(midRun(events));
    await screen.press('t', RIGHT, '\r');
    expect(screen.asked).toEqual([
      'enqueue {"assignment":{"max_batch_size":4,"instances":3},"levels":{"kind":"search"}}',
    ]);
    await screen.press('t', RIGHT, RIGHT, DOWN, DOWN, RIGHT);
    expect((await screen.terminal.lines()).join('\n')).toContain('not valid: all batches together are above 24');
    await screen.press('\r');
    expect(screen.asked).toHaveLength(1);
    await screen.press('\u001b', 'p');
    expect(screen.asked.at(-1)).toBe('pause');
  });

  it('take back what was asked for last, and only what waits', async () => {
    const screen = await shown(midRun(events));
    await screen.press('u');
    expect(screen.asked).toEqual([]);
    expect((await screen.terminal.lines())[22]).toContain('no trial that you asked for is waiting');
    const at = '2026-01-01T00:01:00.000Z';
    const wishes = [2, 3].map((instances) => ({ assignment: { instances }, levels: { kind: 'search' } as const }));
    for (const wish of wishes) screen.tui.onEvent({ type: 'trial-requested', at, ...wish });
    await screen.press('t');
    expect((await screen.terminal.lines())[23]).toContain('u cancel the last');
    await screen.press('u');
    expect(screen.asked).toEqual([`withdraw ${JSON.stringify(wishes[1])}`]);
    expect((await screen.terminal.lines())[22]).toContain('cancelled: instances=3');
    screen.tui.onEvent({ type: 'trial-withdrawn', at, ...(wishes[1] as (typeof wishes)[number]) });
    await screen.press('\u001b');
    const text = await textOf(screen);
    expect(text).toMatch(/steered +1 trial asked for \(u cancels it\)\n/);
    expect(text.match(/\+ +asked for/g)).toHaveLength(1);
  });

  it('close the screen only when the run is over', async () => {
    const screen = await shown(events);
    let isLeft = false;
    void screen.tui.left.then(() => {
      isLeft = true;
    });
    await screen.press('q', '\u001b');
    expect(isLeft).toBe(false);
    screen.tui.end('ended');
    await screen.press('x');
    expect((await screen.terminal.lines())[22]).toContain('written: trial-');
    await screen.press('q');
    expect(isLeft).toBe(true);
    expect(screen.asked).toEqual([]);
  });
});
