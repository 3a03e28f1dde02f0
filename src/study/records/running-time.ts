import type { StudyRecord } from './records.ts';

/**
 * Records that a person may cause while the run is paused; any other record means that it goes on.
 */
const duringPause: ReadonlySet<StudyRecord['type']> = new Set([
  'goal-changed',
  'space-narrowed',
  'trial-requested',
  'trial-withdrawn',
]);

/**
 * Adds up the time in which runs of a study were under way: not the time between runs, and no
 * pauses.
 */
export class RunningTime {
  #elapsedMs = 0;
  #isPaused = false;
  /** The last record by the wall clock. */
  #lastMs = 0;
  /** The last record by the clock of its run; null in the journals of earlier versions. */
  #lastRunMs: number | null = null;

  /** Up to the last record. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Returns the time at a record that follows the last one. */
  msAt(record: Pick<StudyRecord, 'at' | 'runMs'>): number {
    return this.#elapsedMs + Math.max(0, this.#msSinceLast(record));
  }

  /** Takes the next record. A pause that the run's end cuts short has no record of its end. */
  pass(record: StudyRecord): void {
    const beginsRun = record.type === 'study-started' || record.type === 'study-resumed';
    const passedMs = beginsRun ? 0 : this.#msSinceLast(record);
    if (!this.#isPaused && passedMs > 0) this.#elapsedMs += passedMs;
    this.#isPaused = record.type === 'study-paused' || (this.#isPaused && duringPause.has(record.type));
    this.#lastMs = Date.parse(record.at);
    if (beginsRun || record.runMs !== undefined) this.#lastRunMs = record.runMs ?? null;
  }

  /** The wall clock counts only if there is no other clock, because it may have been set. */
  #msSinceLast({ at, runMs }: Pick<StudyRecord, 'at' | 'runMs'>): number {
    if (this.#lastRunMs === null) return Date.parse(at) - this.#lastMs;
    return runMs === undefined ? 0 : runMs - this.#lastRunMs;
  }
}
