import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createJournal, readJournal, resumeJournal } from '#study/records/journal.ts';
import { parseJournal } from '#study/records/journal-text.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from './builders.ts';

let directory = '';
let path = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-'));
  path = join(directory, 'journal.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const at = '2026-01-01T00:00:01.000Z';
const records: readonly StudyRecord[] = [
  studyStarted(goalOf(8)),
  { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(configOf(1, 4)) },
  { type: 'trial-applied', at, trial: 0, change: 'none', loadMs: 0 },
  { type: 'trial-measured', at, trial: 0, measurement: measured(1, 100, 5) },
  { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
  { type: 'final-measured', at, trial: 0, round: 1, measurement: measured(1, 100, 5) },
  { type: 'gain-decided', at, best: 0, gain: { value: 1, low: 1, high: 1 } },
  { type: 'model-restored', at, how: 'config', verified: true, detail: 'put back' },
  { type: 'study-finished', at, stopReason: 'done', interrupted: false, wallSeconds: 3 },
  { type: 'study-resumed', at, server: studyStarted(goalOf(8)).server },
];
const bytesOf = (all: readonly unknown[]): Uint8Array =>
  Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join(''));
const coded = (code: string) => expect.objectContaining({ code });

async function written(all: readonly StudyRecord[] = records): Promise<void> {
  const journal = await createJournal(path);
  await Promise.all(all.map((record) => journal.append(record)));
  await journal.close();
}

describe('the journal', () => {
  it('gives back every kind of record as it was written, in order', async () => {
    await written();
    expect(await readJournal(path)).toEqual(records);
  });

  it('is one line per record, on the disk when append resolves', async () => {
    const journal = await createJournal(path);
    for (const [index, record] of records.entries()) {
      await journal.append(record);
      expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(index + 2);
    }
    await journal.close();
  });

  it('reads a figure that is no number as NaN again', async () => {
    const dead = { ...(records[3] as StudyRecord), measurement: measured(1, 0, Number.NaN) } as StudyRecord;
    await written([...records.slice(0, 3), dead]);
    expect((await readJournal(path))[3]).toEqual(dead);
  });

  it('goes on after a torn last line, which it cuts off', async () => {
    await written(records.slice(0, 4));
    appendFileSync(path, JSON.stringify(records[4]).slice(0, -9));
    expect(await readJournal(path)).toEqual(records.slice(0, 4));
    const resumed = await resumeJournal(path);
    expect(resumed.records).toEqual(records.slice(0, 4));
    await resumed.journal.append(records[4] as StudyRecord);
    await resumed.journal.close();
    expect(await readJournal(path)).toEqual(records.slice(0, 5));
  });

  it('tolerates a cut at every byte, and only loses the torn line', () => {
    const bytes = bytesOf(records);
    const first = bytes.indexOf(0x0a) + 1;
    fc.assert(
      fc.property(fc.integer({ min: first, max: bytes.length }), (cut) => {
        const kept = parseJournal(bytes.subarray(0, cut), path);
        const whole = Buffer.from(bytes.subarray(0, cut)).toString().split('\n').length - 1;
        expect(kept.records).toEqual(records.slice(0, whole));
      }),
    );
  });

  it('either reads damaged bytes or names the line, and nothing else', () => {
    const bytes = bytesOf(records);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (position, value) => {
        const damaged = Uint8Array.from(bytes);
        damaged[position] = value;
        try {
          parseJournal(damaged, path);
        } catch (error) {
          expect(error).toMatchObject({ code: 'JOURNAL_INVALID' });
        }
      }),
    );
  });

  it.each([
    ['a bad line before the last', [records[0], 'x', records[1]], 'line 2'],
    ['a record without its fields', [records[0], { type: 'trial-finished', at }], 'line 2: trial'],
    ['an unknown record', [records[0], { type: 'trial-danced', at }, records[1]], 'line 2'],
    ['another beginning', [records[1], records[0]], 'line 1'],
    ['a later schema', [{ ...records[0], schemaVersion: 3 }], 'was written by a newer version'],
  ])('refuses %s', (_, lines, words) => {
    expect(() => parseJournal(bytesOf(lines), path)).toThrowError(
      expect.objectContaining({ code: 'JOURNAL_INVALID', message: expect.stringContaining(words) }),
    );
  });

  it('names a line of broken JSON, and refuses an empty or missing journal', async () => {
    const text = `${JSON.stringify(records[0])}\n{"type"\n${JSON.stringify(records[1])}\n`;
    expect(() => parseJournal(Buffer.from(text), path)).toThrowError(/line 2 is not JSON/);
    expect(() => parseJournal(new Uint8Array(), path)).toThrowError(coded('JOURNAL_INVALID'));
    await expect(readJournal(path)).rejects.toThrowError(coded('JOURNAL_INVALID'));
    await expect(resumeJournal(path)).rejects.toThrowError(coded('JOURNAL_INVALID'));
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it('refuses a line beyond all reason', () => {
    const long = { ...records[8], stopReason: 'x'.repeat(9 * 2 ** 20) };
    expect(() => parseJournal(bytesOf([records[0], long]), path)).toThrowError(/line 2 is longer/);
  });

  it('lets no key reach a prototype', () => {
    const hostile = JSON.stringify(records[0]).replace(
      '"space":{}',
      '"space":{"__proto__":{"a":1},"\\u005f_proto__":{"b":1}}',
    );
    const [started] = parseJournal(Buffer.from(`${hostile}\n`), path).records;
    const space = (started as { space: object }).space;
    expect(Object.getOwnPropertyNames(space)).toEqual([]);
    expect(Object.getPrototypeOf(space)).toBe(Object.prototype);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });
});

describe('the lock', () => {
  it('lets one writer in, and readers always', async () => {
    const journal = await createJournal(path);
    await journal.append(records[0] as StudyRecord);
    await expect(createJournal(path)).rejects.toThrowError(coded('OUTPUT_LOCKED'));
    await expect(resumeJournal(path)).rejects.toThrowError(coded('OUTPUT_LOCKED'));
    expect(await readJournal(path)).toHaveLength(1);
    await journal.close();
    await expect(createJournal(path)).rejects.toThrowError(coded('OUTPUT_EXISTS'));
    await (await resumeJournal(path)).journal.close();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  const lock = (holder: object) =>
    writeFileSync(`${path}.lock`, JSON.stringify({ host: hostname(), token: 't', ...holder }));

  it('takes over from a process that is gone', async () => {
    lock({ pid: 2 ** 30, startTicks: '1' });
    await written();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it('takes over when the process id is used by another process now', async () => {
    lock({ pid: process.pid, startTicks: '1' });
    await (await createJournal(path)).close();
  });

  it.runIf(process.platform === 'linux')(
    'takes over from a process that was killed and whose parent never asks for it',
    async () => {
      // The shell becomes a program that waits for no child.
      const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 30']);
      try {
        const [line] = (await once(parent.stdout, 'data')) as [Buffer];
        const pid = Number(line.toString());
        await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /), 5_000);
        lock({ pid, startTicks: null });
        await (await createJournal(path)).close();
      } finally {
        parent.kill();
      }
    },
  );

  it('respects a process that lives, and any on another machine', async () => {
    lock({ pid: process.pid, startTicks: null });
    await expect(createJournal(path)).rejects.toThrowError(coded('OUTPUT_LOCKED'));
    lock({ pid: 2 ** 30, startTicks: '1', host: 'elsewhere.invalid' });
    await expect(createJournal(path)).rejects.toThrowError(coded('OUTPUT_LOCKED'));
  });

  it('says when the directory cannot be written', async () => {
    await expect(createJournal(join(directory, 'missing', 'journal.jsonl'))).rejects.toThrowError(
      coded('OUTPUT_UNWRITABLE'),
    );
  });
});
