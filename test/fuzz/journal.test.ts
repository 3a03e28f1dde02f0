import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import { createJournal, readJournal } from '#study/records/journal.ts';
import { parseJournal } from '#study/records/journal-text.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { summarize } from '#study/summary/summary.ts';
import { toCandidate } from '../study/builders.ts';
import { FUZZ_TIMEOUT_MS, fuzz, hostileJson, nested, refusedOr } from '../support/fuzz.ts';
import { journalBytes, journalRecords } from './parsers/records.ts';

const at = '2026-01-01T00:00:01.000Z';
const records = journalRecords;
const [started] = records;

/** The study of the bytes; undefined when they are refused. */
function studyOf(bytes: Uint8Array): StudyState | undefined {
  const parsed = refusedOr(() => parseJournal(bytes, 'journal.jsonl'), 'JOURNAL_INVALID');
  if (!parsed) return undefined;
  return refusedOr(() => foldStudy(parsed.records), 'JOURNAL_INVALID', 'UNSUPPORTED');
}

describe('a journal that is bad', () => {
  it('of records in any order, left out and doubled, is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const some = fc.array(fc.constantFrom(...records.slice(1)), { maxLength: 14 });
    fuzz(some, (chosen) => {
      const state = studyOf(journalBytes([started, ...chosen]));
      if (state) expect(summarize(state, 'journal.jsonl').counts.trials).toBe(state.trials.length);
    });
  });

  it('of records with other values is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const keys = [...new Set(records.flatMap((record) => Object.keys(record)))];
    fuzz(fc.tuple(fc.nat(), fc.constantFrom(...keys), hostileJson(keys)), ([place, key, json]) => {
      const lines = records.map((record) => JSON.stringify(record));
      const at = place % lines.length;
      lines[at] = `${(lines[at] as string).slice(0, -1)},${JSON.stringify(key)}:${json}}`;
      studyOf(Buffer.from(`${lines.join('\n')}\n`));
    });
  });

  it('of configs of other shapes is refused with its line, or summed up', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const keys = [
      'name',
      'max_batch_size',
      'instance_group',
      'count',
      'kind',
      'gpus',
      'dynamic_batching',
      'parameters',
    ];
    const config = hostileJson(keys).filter((json) => json.startsWith('{'));
    let read = 0;
    fuzz(config, (json) => {
      const [first, baseline, ...others] = records.slice(0, 5).map((record) => JSON.stringify(record));
      const changed = baseline?.replace(/"config":\{.*\}\}/, () => `"config":${json}}}`);
      const state = studyOf(Buffer.from([first, changed, ...others, ''].join('\n')));
      if (state) expect(summarize(state, 'journal.jsonl').counts.trials).toBe(1);
      read += state ? 1 : 0;
    });
    expect(read).toBeGreaterThan(0);
  });

  it.each([
    ['nested deeper than a stack', `{"x":${nested('[', '', ']')}}`],
    [
      'with an assignment nested deeper than a stack',
      `{"type":"trial-requested","at":"","assignment":{"a":${nested('[', '', ']')}}}`,
    ],
    [
      'with a narrowing nested deeper than a stack',
      `{"type":"space-narrowed","at":"","narrowing":{"a":{"pinned":${nested('[', '', ']')}}}}`,
    ],
    [
      'with a narrowing nested a thousand deep',
      `{"type":"space-narrowed","at":"","narrowing":{"a":{"pinned":${nested('[', '', ']', 1000)}}}}`,
    ],
    ['longer than 8 MiB', `{"x":"${'x'.repeat(8 * 2 ** 20)}"}`],
    ['without an end', '['.repeat(1_000_000)],
  ])('by a line %s is refused', (_, line) => {
    const bytes = Buffer.from(`${JSON.stringify(started)}\n${line}\n${JSON.stringify(records[1])}\n`);
    expect(() => parseJournal(bytes, 'f')).toThrow(expect.objectContaining({ code: 'JOURNAL_INVALID' }));
  });

  it('has no say in prototypes', () => {
    const polluted = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}';
    const line = `${polluted},"type":"space-narrowed","at":"${at}","narrowing":{"__proto__":{"pinned":1},"constructor":{"pinned":1}}}`;
    const { records: read } = parseJournal(Buffer.from(`${JSON.stringify(started)}\n${line}\n`), 'f');
    expect(Object.keys((read[1] as { narrowing: object }).narrowing)).toEqual(['constructor']);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((read[1] as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('keeps a model and a parameter of any name in a candidate, and its prototype', () => {
    const config = '{"name":"__proto__","parameters":{"__proto__":{"string_value":"x"}}}';
    const value = `{"models":{"__proto__":${config}},"others":{"\\u005f_proto__":${config}}}`;
    const candidate = `{"fingerprint":"f","assignment":{"__proto__":{"polluted":1}},"value":${value},"shape":${JSON.stringify(toCandidate({}).shape)},"__proto__":{"polluted":1}}`;
    const line = `{"type":"trial-started","at":"${at}","trial":0,"role":"baseline","candidate":${candidate}}`;
    const { records: read } = parseJournal(Buffer.from(`${JSON.stringify(started)}\n${line}\n`), 'f');
    const own = (read[1] as Extract<StudyRecord, { type: 'trial-started' }>).candidate;
    expect(Object.keys(own.assignment)).toEqual([]);
    expect(Object.keys(own).toSorted()).toEqual(['assignment', 'fingerprint', 'shape', 'value']);
    for (const models of [own.value.models, own.value.others] as Record<string, object>[]) {
      expect(Object.keys(models)).toEqual(['__proto__']);
      expect(JSON.stringify(models)).toBe(`{"__proto__":${config}}`);
      expect(Object.getPrototypeOf(models)).toBe(Object.prototype);
    }
    for (const each of [own, own.assignment, own.value]) expect(Object.getPrototypeOf(each)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('any study', () => {
  it('is read from its journal as it was written', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'tritune-fuzz-')), 'journal.jsonl');
    const journal = await createJournal(path);
    for (const record of records) await journal.append(record);
    await journal.close();
    expect(await readJournal(path)).toEqual(records);
    expect(await readdir(join(path, '..'))).toEqual(['journal.jsonl']);
  });

  it('of whatever JSON in it, too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    // A key that reaches a prototype is left out, whatever it stands for.
    const value = fc.jsonValue({ maxDepth: 3 }).filter((json) => !JSON.stringify(json).includes('__proto__'));
    const assignment = fc
      .dictionary(fc.string({ maxLength: 5 }), value)
      .filter((all) => !Object.hasOwn(all, '__proto__'));
    fuzz(assignment, (chosen) => {
      const candidate = { ...toCandidate({}, chosen), value: {} };
      const all = [started, { ...records[1], candidate }];
      const { records: read } = parseJournal(journalBytes(all), 'f');
      expect(read).toEqual(JSON.parse(JSON.stringify(all)));
    });
  });
});
