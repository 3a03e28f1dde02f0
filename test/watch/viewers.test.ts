import { beforeEach, describe, expect, it } from 'vitest';
import { Board } from '#watch/board.ts';
import { Viewers } from '#watch/viewers.ts';
import { fleetProgress, fleetRecords, head, windowEvent, workFor } from '../support/watched-fleet.ts';

/** Virtual: what a viewer was told, and whether it takes more. */
class Told {
  readonly texts: string[] = [];
  takesMore = true;

  write(text: string): boolean {
    this.texts.push(text);
    return this.takesMore;
  }

  /** The events since the last time that this was asked. */
  take(): { readonly event: string; readonly data: Record<string, unknown> }[] {
    const all = this.texts.splice(0).join('');
    const found = all.matchAll(/event: (\w+)\ndata: (.*)\n\n/g);
    return [...found].map(([, event = '', data = '']) => ({ event, data: JSON.parse(data) }));
  }
}

let nowMs: number;
let board: Board;
let viewers: Viewers;

beforeEach(() => {
  nowMs = 0;
  board = new Board(() => nowMs, { canSteer: false });
  viewers = new Viewers(board, () => nowMs);
});

const tick = (ms = 500): void => {
  nowMs += ms;
  viewers.tick();
};

describe('the stream of a viewer', () => {
  it('begins with all that stands, and goes on with what has changed', async () => {
    const records = await fleetRecords();
    board.list([head('one'), head('two')]);
    for (const record of records.slice(0, 20)) board.take('one', record);
    const told = new Told();
    viewers.add(told);
    expect(told.texts[0]).toBe('retry: 2000\n\n');
    expect(told.take()).toMatchObject([
      { event: 'board', data: { studies: [{ study: 'one' }, { study: 'two' }], trouble: null, canSteer: false } },
      { event: 'study', data: { study: 'one', status: 'under way' } },
    ]);
    tick();
    expect(told.take()).toEqual([]);
    for (const record of records.slice(20, 24)) board.take('one', record);
    board.take('two', records[0] as (typeof records)[number]);
    tick();
    expect(told.take().map(({ data }) => data.study)).toEqual(['one', 'two']);
    board.list([head('two')]);
    tick();
    expect(told.take()).toMatchObject([{ event: 'board', data: { studies: [{ study: 'two' }] } }]);
  });

  it('has the newest of each part alone for one who is slow', async () => {
    const [started] = await fleetRecords();
    if (!started) throw new Error('no records');
    board.list([head('one')]);
    board.take('one', started);
    const told = new Told();
    told.takesMore = false;
    const viewer = viewers.add(told);
    expect(told.take()).toEqual([]);
    const work = workFor('s0', 1);
    board.progress('one', fleetProgress([work]));
    for (let window = 1; window < 6; window++) {
      board.heartbeat('one', { work: work.id, trial: 1, event: windowEvent(1, window, 10 * window) });
      tick();
    }
    expect(told.texts).toEqual([]);
    told.takesMore = true;
    viewer.drained();
    tick();
    const events = told.take();
    expect(events.map(({ event }) => event)).toEqual(['board', 'study']);
    expect(events[1]?.data.servers).toMatchObject([{ windows: [10, 20, 30, 40, 50] }]);
    viewer.leave();
    expect(viewers.count).toBe(0);
  });

  it('beats where there is nothing to tell', () => {
    const told = new Told();
    viewers.add(told);
    told.take();
    tick(9_000);
    expect(told.take()).toEqual([]);
    tick(1_000);
    tick(500);
    expect(told.take()).toEqual([{ event: 'beat', data: {} }]);
  });

  it('works a part out that takes long less often, however many watch', () => {
    let worked = 0;
    let change = (): void => undefined;
    const slow = {
      parts: ['slow'],
      listen: (listener: (part: string) => void) => {
        change = () => listener('slow');
      },
      message: () => {
        worked++;
        nowMs += 100;
        return { event: 'study', data: { study: 'slow' } };
      },
    } as unknown as Board;
    viewers = new Viewers(slow, () => nowMs);
    const all = [new Told(), new Told()];
    for (const told of all) viewers.add(told);
    for (let ticks = 0; ticks < 40; ticks++) {
      change();
      tick(100);
    }
    // In 4 s it may be worked out every 1.1 s.
    expect(worked).toBeGreaterThanOrEqual(3);
    expect(worked).toBeLessThanOrEqual(5);
    for (const told of all) expect(told.take().length).toBe(worked);
  });

  it('says why what is shown may be old', () => {
    const told = new Told();
    viewers.add(told);
    told.take();
    board.trouble('Temporal does not answer');
    tick();
    board.trouble('Temporal does not answer');
    tick();
    board.trouble(null);
    tick();
    expect(told.take().map(({ data }) => data.trouble)).toEqual(['Temporal does not answer', null]);
  });
});
