import type { StudyRecord } from '#study/records/records.ts';

/**
 * Returns what is wrong in the trials of a study that was killed and resumed: a search trial that
 * has finished is not repeated.
 */
export function repeatedTrials(records: readonly StudyRecord[]): readonly string[] {
  const finished = new Set<number>();
  const faults: string[] = [];
  for (const record of records) {
    if (record.type === 'trial-started' && record.role === 'search' && finished.has(record.trial))
      faults.push(`trial ${record.trial} is tried again`);
    if (record.type === 'trial-finished') finished.add(record.trial);
  }
  return faults;
}
