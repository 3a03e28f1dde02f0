import { MS_PER_S } from '#base/units.ts';
import type { StudyRecord } from './records.ts';

/** What a study spends its time on, in the order of a trial. */
export const phaseKinds = ['choosing', 'building', 'loading', 'first-answers', 'measuring', 'final'] as const;
export type PhaseKind = (typeof phaseKinds)[number];

/**
 * A part of a study's running time, in seconds since its start; pauses and the time between runs do
 * not count.
 */
export interface StudyPhase {
  readonly kind: PhaseKind;
  readonly trial: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Divides a study's running time by what its records say about it. */
export class PhasesFold {
  readonly #phases: StudyPhase[] = [];
  /** The end of the last phase of each open trial, in seconds, and whether the server has it. */
  readonly #open = new Map<number, { readonly sinceSeconds: number; readonly isApplied: boolean }>();
  #lastSeconds = 0;

  get list(): readonly StudyPhase[] {
    return this.#phases;
  }

  /** Takes the next record; `atSeconds`: the running time at it. */
  add(record: StudyRecord, atSeconds: number): void {
    switch (record.type) {
      case 'trial-started':
        this.#push('choosing', record.trial, this.#lastSeconds, atSeconds);
        this.#open.set(record.trial, { sinceSeconds: atSeconds, isApplied: false });
        break;
      case 'trial-applied':
        this.#split(record.trial, atSeconds, ['building', record.buildMs], 'loading');
        break;
      case 'trial-measured':
        this.#split(record.trial, atSeconds, ['first-answers', record.measurement.firstAnswersMs], 'measuring');
        break;
      case 'trial-finished': {
        const isApplied = this.#open.get(record.trial)?.isApplied === true;
        this.#split(record.trial, atSeconds, null, isApplied ? 'measuring' : 'loading');
        this.#open.delete(record.trial);
        break;
      }
      case 'final-measured':
        this.#split(record.trial, atSeconds, ['first-answers', record.measurement.firstAnswersMs], 'final');
        this.#open.delete(record.trial);
        break;
    }
    this.#lastSeconds = atSeconds;
  }

  /**
   * Divides the time since the trial's last phase into a first part of a known duration and the
   * rest.
   */
  #split(
    trial: number,
    atSeconds: number,
    first: readonly [kind: PhaseKind, ms: number | undefined] | null,
    rest: PhaseKind,
  ): void {
    const { sinceSeconds = this.#lastSeconds } = this.#open.get(trial) ?? {};
    const [kind, ms = 0] = first ?? [rest];
    const middleSeconds = Math.min(atSeconds, sinceSeconds + ms / MS_PER_S);
    this.#push(kind, trial, sinceSeconds, middleSeconds);
    this.#push(rest, trial, middleSeconds, atSeconds);
    this.#open.set(trial, { sinceSeconds: atSeconds, isApplied: true });
  }

  #push(kind: PhaseKind, trial: number, startSeconds: number, endSeconds: number): void {
    if (endSeconds > startSeconds) this.#phases.push({ kind, trial, startSeconds, endSeconds });
  }
}
