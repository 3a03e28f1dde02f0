import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FleetSource, watchFleet } from '#app/fleet/watch-fleet.ts';
import { lookOnce } from '#app/watch-directories.ts';
import { realClock } from '#base/clock.ts';
import type { StudyStatus } from '#fleet/temporal/studies.ts';
import { Board } from '#watch/board.ts';
import type { StudyView } from '#watch/view/study-view.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { fleetProgress, fleetRecords, windowEvent, workFor } from '../support/watched-fleet.ts';

const viewOf = (board: Board, study: string): StudyView | undefined => {
  const message = board.message(study);
  return message?.event === 'study' ? message.data : undefined;
};

/** Time passes at once, but lets others do what they have to. */
const quick = { ...realClock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };

const until = async (holds: () => boolean): Promise<void> => {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 10_000) throw new Error('it never came to that');
    await quick.sleep();
  }
};

describe('the page of a fleet', () => {
  it('goes on with each study where it was cut off, and says when nobody answers', async () => {
    const records = await fleetRecords();
    const work = workFor('s0', 3);
    const status: StudyStatus = {
      study: 'one',
      group: 'g',
      status: 'RUNNING',
      startedAt: new Date(0),
      progress: fleetProgress([work]),
    };
    const asked: number[] = [];
    const notices: (string | undefined)[] = [];
    let answers = true;
    let ends = false;
    const source: FleetSource = {
      list: async () => {
        if (!answers) throw new Error('connection refused');
        return [ends ? { ...status, status: 'COMPLETED', progress: null } : status];
      },
      follow: async (_study, from, { onRecord, onHeartbeat, onTrouble }) => {
        asked.push(from);
        onTrouble(from === 0 ? 'the keeper is away' : null);
        if (from === 0) notices.push(viewOf(board, 'one')?.notice);
        const to = from === 0 ? 20 : records.length;
        for (const record of records.slice(from, to)) await onRecord(record);
        onHeartbeat({ work: work.id, trial: 3, event: windowEvent(3, 1, 70) });
        if (to < records.length) throw new Error('its keeper was killed');
      },
    };
    const board = new Board(() => 0, { canSteer: false });
    const leave = new AbortController();
    const ended = watchFleet(source, board, leave.signal, quick);
    await until(() => viewOf(board, 'one')?.phase.startsWith('ended: ') ?? false);
    expect(asked).toEqual([0, 20]);
    expect([...notices, viewOf(board, 'one')?.notice]).toEqual(['the keeper is away', '']);
    expect(board.known('one')).toBe(records.length);
    expect(board.message('')).toMatchObject({ data: { trouble: null, studies: [{ status: 'under way' }] } });
    answers = false;
    await until(() => JSON.stringify(board.message('')).includes('connection refused'));
    expect(viewOf(board, 'one')?.progress.done).toBe(8);
    [answers, ends] = [true, true];
    await until(() => viewOf(board, 'one')?.status === 'over');
    expect(board.message('')).toMatchObject({ data: { trouble: null } });
    leave.abort();
    await ended;
    expect(asked).toEqual([0, 20]);
  });

  it('follows what is under way, and of the others those that began last', async () => {
    const followed: string[] = [];
    const all = Array.from({ length: 6 }, (_, at): StudyStatus => {
      const status = at === 0 ? 'RUNNING' : 'COMPLETED';
      return { study: `s${at}`, group: 'g', status, startedAt: new Date(at), progress: null };
    });
    const source: FleetSource = {
      list: async () => all,
      follow: async (study) => void followed.push(study),
    };
    const board = new Board(() => 0, { canSteer: false });
    const leave = new AbortController();
    const ended = watchFleet(source, board, leave.signal, quick);
    await until(() => followed.length >= 4);
    leave.abort();
    await ended;
    expect(followed.toSorted()).toEqual(['s0', 's3', 's4', 's5']);
    expect(board.message('')).toMatchObject({
      data: { studies: [5, 4, 3, 2, 1, 0].map((at) => ({ study: `s${at}` })) },
    });
  });
});

describe('the page of directories', () => {
  it('shows journals as they grow, and says which it cannot read', async () => {
    const records = await fleetRecords();
    const lines = records.map((record) => `${JSON.stringify(record)}\n`);
    const folder = await freshDirectory();
    const [one, two] = ['one', 'two'].map((name) => join(folder, name, 'journal.jsonl')) as [string, string];
    for (const name of ['one', 'two']) await mkdir(join(folder, name));
    await writeFile(one, lines.slice(0, 10).join(''));
    const board = new Board(() => 0, { canSteer: false });
    const seen = new Map();
    const look = (isWritten: boolean, ...more: readonly string[]) =>
      lookOnce([folder, ...more], board, seen, () => isWritten);
    await look(true);
    expect(board.known('one')).toBe(10);
    expect(board.message('')).toMatchObject({
      data: { studies: [{ study: 'one', group: null, status: 'under way' }] },
    });
    await appendFile(one, `${lines.slice(10).join('')}{"torn`);
    await writeFile(two, 'nothing\nof ours\n');
    await look(true, join(folder, 'one'), join(folder, 'none'));
    expect(board.known('one')).toBe(records.length);
    expect(viewOf(board, 'one')?.phase).toMatch(/^ended: /);
    expect(board.message('')).toMatchObject({
      data: { studies: [{ study: 'one', status: 'over' }], trouble: expect.stringContaining('two') },
    });
    // Another study took its place.
    await writeFile(one, lines.slice(0, 5).join(''));
    await look(false);
    expect(board.known('one')).toBe(5);
    expect(board.message('')).toMatchObject({ data: { studies: [{ status: 'interrupted' }] } });
  });

  it('says which directory is not there yet', async () => {
    const folder = await freshDirectory();
    const board = new Board(() => 0, { canSteer: false });
    const later = join(folder, 'later');
    await lookOnce([folder, later], board, new Map());
    expect(board.message('')).toMatchObject({ data: { trouble: `the directory '${later}' does not exist yet` } });
    await mkdir(later);
    await lookOnce([folder, later], board, new Map());
    expect(board.message('')).toMatchObject({ data: { trouble: null } });
  });
});
