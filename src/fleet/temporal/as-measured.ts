import { TrituneError } from '#base/errors.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { WorkOutcome } from '../study/work.ts';

/**
 * Returns the outcome with its measurements as a journal would return them: they come from another
 * machine, and JSON has no NaN. Errors: INPUT_INVALID.
 */
export function asMeasured(outcome: WorkOutcome): WorkOutcome {
  if (outcome.kind !== 'done') return outcome;
  const measurements = outcome.measurements.map((measurement): Measurement => {
    const record = asRecord({ type: 'trial-measured', at: '', trial: 0, measurement });
    return (record as Extract<StudyRecord, { readonly type: 'trial-measured' }>).measurement;
  });
  return { ...outcome, measurements };
}

/** Converts a value that came through Temporal back to a record. Errors: INPUT_INVALID. */
export function asRecord(value: unknown): StudyRecord {
  const checked = checkRecord(value);
  if ('record' in checked) return checked.record;
  const hint = 'install the same version of tritune on this machine and on all workers of the group';
  throw new TrituneError('INPUT_INVALID', `a record of the study cannot be read: ${checked.fault}`, hint);
}
