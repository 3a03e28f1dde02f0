import { writeFile } from 'node:fs/promises';
import { formatJson } from '#study/records/journal-text.ts';
import { LineSealer } from '#study/records/line-seal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { runKey } from '#study/records/run-key.ts';

/** Writes the records as a run of this user has them in its journal; `key`: another user's. */
export function writeJournal(
  path: string,
  records: readonly StudyRecord[],
  key: Buffer | null = runKey().key,
): Promise<void> {
  const sealer = new LineSealer(key);
  return writeFile(path, records.map((record) => sealer.seal(formatJson(record))).join(''));
}

/** Returns the record in a line of a journal, without what seals the line. */
export function recordIn(line: string): StudyRecord {
  const { check: _check, mark: _mark, originalDigest: _digest, ...record } = JSON.parse(line);
  return record as StudyRecord;
}
