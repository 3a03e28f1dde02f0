import type { ModelRestored } from '#study/records/records.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { Left, OpenStudy, Target, TargetSetting } from './study.ts';

/**
 * How a run leaves its models. Learned from the events for observers, because writing the journal
 * may have failed.
 */
export class StudyEnding {
  #restored: ModelRestored | null = null;

  /** Takes an event of the run. */
  note(event: TunerEvent): void {
    if (event.type === 'model-restored') this.#restored = event;
  }

  /** The final state; null until the run reports it. */
  get restored(): ModelRestored | null {
    return this.#restored;
  }
}

/**
 * Opens the target of a study, does the work, and closes the target as the work leaves it. The work
 * notes its events in the ending. Errors: those of opening, of the work, and RESTORE_FAILED; that
 * of a server that was started for the study and ended by itself instead of what it caused.
 */
export async function onTarget<T>(
  study: OpenStudy,
  setting: TargetSetting,
  work: (target: Target, ending: StudyEnding) => Promise<T>,
): Promise<T> {
  const target = await study.target.open(study, setting);
  const ending = new StudyEnding();
  try {
    return await work(target, ending);
  } catch (error) {
    throw target.failure() ?? error;
  } finally {
    await target.close(leftBy(ending));
  }
}

function leftBy({ restored }: StudyEnding): Left {
  if (restored === null) return 'untouched';
  return restored.verified ? 'restored' : 'changed';
}
