import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { createJournal, readJournal, resumeForRestoring, resumeJournal } from '#study/records/journal.ts';
import { formatJson, type JournalText, parseForRestoring, parseJournal } from '#study/records/journal-text.ts';
import { LineSealer } from '#study/records/line-seal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { runKey, runKeyPath } from '#study/records/run-key.ts';
import { isNightly } from '../support/fuzz.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from './builders.ts';

const at = '2026-01-01T00:00:01.000Z';
const started = studyStarted(goalOf(8));
const records: readonly StudyRecord[] = [
  started,
  { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(configOf(1, 4)) },
  { type: 'trial-applied', at, trial: 0, change: 'none', loadMs: 0 },
  { type: 'trial-measured', at, trial: 0, measurement: measured(1, 100, 5) },
  { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
  { type: 'model-restored', at, how: 'config', verified: true, detail: 'put back' },
];
const key = randomBytes(32);
const sealed = (all: readonly StudyRecord[], by: Buffer | null = key): readonly string[] => {
  const sealer = new LineSealer(by);
  return all.map((record) => sealer.seal(formatJson(record)));
};
const lines = sealed(records);
const whole = Buffer.from(lines.join(''));
const firstEnd = whole.indexOf(0x0a);

const parse = (bytes: Uint8Array): JournalText => parseJournal(bytes, 'journal.jsonl', undefined, key);
/** The error's message, or null. */
const refusalOf = (work: () => unknown): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    if (isTrituneError(error, 'JOURNAL_INVALID')) return error.message;
    throw error;
  }
};
const lineAt = (position: number): number => whole.subarray(0, position).toString('latin1').split('\n').length;

/**
 * Reads what is not as it was written: it is noticed at its line or the next one, or it changes
 * nothing.
 */
function expectNoticed(bytes: Uint8Array, line: number): void {
  const refusal = refusalOf(() => {
    const read = parse(bytes);
    // Only the mark of the last line is vouched for by nothing but itself, and its line feed may be
    // torn off.
    expect(line).toBe(records.length);
    expect(records.slice(0, read.records.length)).toEqual(read.records);
    expect(read.records.length).toBeGreaterThanOrEqual(records.length - 1);
    expect(read.records.length === records.length && read.origin === 'own').toBe(false);
  });
  if (refusal !== null) expect(refusal).toMatch(new RegExp(`line (${line}|${line + 1})\\b`));
  const rescue = refusalOf(() => {
    const { records: found, origin } = parseForRestoring(bytes, 'journal.jsonl', key);
    expect(found[0]).toEqual(started);
    if (line > 1) expect(origin).toBe('own');
    for (const record of found) expect(records).toContainEqual(record);
  });
  // Damage of other lines does not keep the first one from being used.
  if (line > 1) expect(rescue).toBeNull();
  else if (rescue !== null) expect(rescue).toContain('does not say for certain what the original config was: line 1');
}

/** Every byte at night, by day some of each line. */
const STEP_BYTES = isNightly ? 1 : 5;

describe('damage of a journal is noticed', () => {
  it('for a flipped bit in any byte', () => {
    for (let position = 0; position < whole.length; position += STEP_BYTES) {
      const bytes = Buffer.from(whole);
      bytes[position] = (bytes[position] as number) ^ (1 << (position % 8));
      expectNoticed(bytes, lineAt(position));
    }
  });

  it('for every byte that is missing', () => {
    for (let position = 0; position < whole.length; position += STEP_BYTES)
      expectNoticed(Buffer.concat([whole.subarray(0, position), whole.subarray(position + 1)]), lineAt(position));
  });

  it('for a missing line, two lines in each other’s place and a line twice', () => {
    for (let line = 0; line + 1 < lines.length; line++) {
      const without = lines.filter((_, index) => index !== line);
      const swapped = lines.with(line, lines[line + 1] as string).with(line + 1, lines[line] as string);
      for (const changed of [without, swapped, lines.toSpliced(line, 0, lines[line] as string)])
        expect(refusalOf(() => parse(Buffer.from(changed.join(''))))).toMatch(/line [12345678]\b/);
    }
  });

  it('for every flipped bit of the stored original, also under a check value that fits', () => {
    const json = formatJson(started);
    const text = JSON.stringify(started.original.value);
    const from = json.indexOf(text);
    expect(from).toBeGreaterThan(0);
    for (let position = from; position < from + text.length; position += STEP_BYTES) {
      for (let bit = 0; bit < 7; bit++) {
        const bytes = Buffer.from(json);
        bytes[position] = (bytes[position] as number) ^ (1 << bit);
        const changed = Buffer.from(new LineSealer(key).seal(bytes.toString('latin1')));
        expect(refusalOf(() => parse(changed))).toContain('line 1');
      }
    }
  });
});

it('a line cut at any byte is torn, and no damage', () => {
  for (let cut = firstEnd + 1; cut <= whole.length; cut += STEP_BYTES) {
    const ended = whole.subarray(0, cut).toString('latin1').split('\n').length - 1;
    expect(parse(whole.subarray(0, cut)).records).toEqual(records.slice(0, ended));
    // A disk may have the length of a line before its bytes.
    const zeros = Buffer.concat([whole.subarray(0, cut), Buffer.alloc(3)]);
    expect(parse(zeros).records).toEqual(records.slice(0, ended));
  }
});

describe('the origin of a journal', () => {
  it('is its user’s own by the first line and the last', () => {
    expect(parse(whole).origin).toBe('own');
    expect(parseJournal(whole, 'j', undefined, randomBytes(32)).origin).toBe('foreign');
    expect(parseJournal(whole, 'j', undefined, null).origin).toBe('foreign');
    expect(parse(Buffer.from(sealed(records, null).join(''))).origin).toBe('unmarked');
    expect(parse(Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))).origin).toBe('unmarked');
  });

  it('is foreign when somebody else went on with it', () => {
    const sealer = new LineSealer(randomBytes(32), whole.subarray(whole.lastIndexOf('"check":"') + 9));
    const resumed: StudyRecord = { type: 'study-resumed', at, server: { ...started.server, controlUrl: 'evil:1' } };
    const longer = Buffer.concat([whole, Buffer.from(sealer.seal(formatJson(resumed)))]);
    const read = parse(longer);
    expect(read.records).toEqual([...records, resumed]);
    expect(read.origin).toBe('foreign');
    // In a damaged journal, too, it says nothing about one's own study.
    const damaged = Buffer.from(longer);
    damaged[firstEnd + 5] = 0x20;
    const sound = parseForRestoring(damaged, 'j', key);
    expect(sound.origin).toBe('own');
    expect(sound.records).not.toContainEqual(resumed);
  });
});

describe('on the disk', () => {
  let directory = '';
  let path = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'journal-'));
    path = join(directory, 'journal.jsonl');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));
  const last = records.at(-1) as StudyRecord;

  it('a journal without check values goes on with them, and they cover what was there', async () => {
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    const { journal, origin } = await resumeJournal(path);
    expect(origin).toBe('unmarked');
    await journal.append(last);
    await journal.close();
    expect(await readJournal(path)).toEqual([...records, last]);
    const bytes = readFileSync(path);
    bytes[bytes.indexOf('"trial":0') + 8] = 0x31;
    writeFileSync(path, bytes);
    await expect(readJournal(path)).rejects.toThrowError(/line 7 is not as it was written/);
  });

  it('stays foreign after its user went on with what somebody else wrote', async () => {
    const own = runKey().key;
    for (const [first, then] of [
      [own, randomBytes(32)],
      [randomBytes(32), own],
    ] as const) {
      const begun = sealed(records.slice(0, 2), first).join('');
      const sealer = new LineSealer(then, Buffer.from(begun.slice(begun.lastIndexOf('"check":"') + 9)));
      writeFileSync(path, begun + sealer.seal(formatJson(records[2] as StudyRecord)));
      for (const record of records.slice(3)) {
        const { journal, origin } = await resumeJournal(path);
        expect(origin).toBe('foreign');
        await journal.append(record);
        await journal.close();
      }
      expect(await readJournal(path)).toEqual(records);
    }
  });

  it('a damaged journal takes the record of the restoring, and its line alone is not the end of a broken one', async () => {
    const journal = await createJournal(path);
    for (const record of records.slice(0, -1)) await journal.append(record);
    await journal.close();
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = 0x20;
    writeFileSync(path, bytes);
    const damaged = await resumeForRestoring(path, () => undefined);
    expect(damaged.fault).toMatch(/line 5 has no end/);
    expect(damaged.records[0]).toEqual(started);
    await damaged.journal.append(last);
    await damaged.journal.close();
    expect((await resumeForRestoring(path, () => undefined).then(closed)).records.at(-1)).toEqual(last);
  });

  it('refuses to write what could not be read again, at once, and goes on', async () => {
    const journal = await createJournal(path);
    await journal.append(started);
    const half = { ...measured(1, 100, 5), windows: 1.5 };
    const bad: StudyRecord = { type: 'trial-measured', at, trial: 0, measurement: half };
    const long: StudyRecord = {
      type: 'study-finished',
      at,
      stopReason: 'x'.repeat(2 ** 23),
      interrupted: false,
      wallSeconds: 1,
    };
    await expect(journal.append(bad)).rejects.toMatchObject({
      code: 'RECORD_INVALID',
      message: expect.stringContaining('trial-measured: measurement.windows'),
    });
    await expect(journal.append(long)).rejects.toMatchObject({ code: 'RECORD_INVALID' });
    await journal.append(last);
    await journal.close();
    expect(await readJournal(path)).toEqual([started, last]);
  });

  it('leaves a journal alone that is not admitted', async () => {
    const torn = Buffer.concat([whole, Buffer.from('{"type"')]);
    writeFileSync(path, torn);
    const refuse = (): never => {
      throw new Error('no');
    };
    await expect(resumeJournal(path, undefined, refuse)).rejects.toThrowError('no');
    expect(readFileSync(path)).toEqual(torn);
  });

  it('makes a key that only its user can read, and takes no other', () => {
    const earlier = process.env.XDG_CONFIG_HOME;
    process.env.XDG_CONFIG_HOME = join(directory, 'config');
    try {
      const made = runKey();
      expect(made.key).toHaveLength(32);
      expect(runKey()).toEqual(made);
      expect(statSync(runKeyPath()).mode & 0o777).toBe(0o600);
      expect(statSync(join(runKeyPath(), '..')).mode & 0o777).toBe(0o700);
      chmodSync(runKeyPath(), 0o644);
      expect(runKey()).toMatchObject({ key: null, reason: expect.stringContaining('others may read') });
    } finally {
      process.env.XDG_CONFIG_HOME = earlier;
    }
  });
});

async function closed<J extends { journal: { close(): Promise<void> } }>(found: J): Promise<J> {
  await found.journal.close();
  return found;
}

describe('a journal of a newer version', () => {
  const readers = [parse, (bytes: Buffer) => parseForRestoring(bytes, 'journal.jsonl', key)];

  it('says so, where it is read and where its model is put back', () => {
    const newer = Buffer.from(sealed([{ ...started, schemaVersion: 3 } as unknown as StudyRecord]).join(''));
    for (const read of readers)
      expect(refusalOf(() => read(newer))).toBe('the journal journal.jsonl was written by a newer version of tritune');
  });

  it('or is damaged, if its check value differs', () => {
    const changed = Buffer.from(whole.toString().replace('"schemaVersion":2', '"schemaVersion":3'));
    for (const read of readers)
      expect(refusalOf(() => read(changed))).toMatch(
        /line 1 was written by a newer version of tritune, or is not as it was/,
      );
  });
});
