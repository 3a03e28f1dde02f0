import { foldStudy } from './fold.ts';
import type { StoredJournal } from './journal.ts';
import type { StudyRecord } from './records.ts';
import type { StudyState } from './state.ts';

/** Records of a run that say how its server is left. */
const ofServer: ReadonlySet<StudyRecord['type']> = new Set([
  ...(['study-started', 'study-resumed', 'tracing-started', 'tracing-ended', 'model-restored'] as const),
]);
/** Records that may follow the restoring. */
const ofEnd: ReadonlySet<StudyRecord['type']> = new Set(['tracing-ended', 'study-finished']);

/**
 * Returns the state of a study as far as restoring needs it. Of a damaged journal, whose trials
 * have gaps, only a restoring after all that is left of it counts. Errors: JOURNAL_INVALID for a
 * whole journal whose records contradict each other.
 */
export function stateToRestore({ records, fault }: StoredJournal): StudyState {
  if (fault === undefined) return foldStudy(records);
  const last = records.findLast((record) => !ofEnd.has(record.type));
  const counts = (record: StudyRecord): boolean =>
    ofServer.has(record.type) && (record.type !== 'model-restored' || record === last);
  return foldStudy(records.filter(counts));
}
