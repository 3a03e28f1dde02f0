import type { FinalStep } from '#study/final/final.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { LevelPlan } from '#study/types.ts';
import { BASELINE } from '#tuner/run.ts';
import type { StudyRecorder } from '#tuner/study-recorder.ts';
import type { Assigned } from '#tuner/trial.ts';
import type { Work } from './work.ts';

const FINAL = 'final-';

/** True if the id of a piece of work belongs to the final. */
export const isOfFinal = (work: string): boolean => work.startsWith(FINAL);

/**
 * Makes the pieces of work of one study, and records the start of each trial. All state that it
 * needs for that is in the study's records.
 */
export class HandedOut {
  readonly #recorder: StudyRecorder;
  /** The number of starts of each trial. */
  readonly #attempts = new Map<number, number>();

  constructor(recorder: StudyRecorder, earlier: readonly StudyRecord[]) {
    this.#recorder = recorder;
    for (const record of earlier)
      if (record.type === 'trial-started')
        this.#attempts.set(record.trial, (this.#attempts.get(record.trial) ?? 0) + 1);
  }

  /** Starts a trial on a server. Errors: those of the journal. */
  async trial(server: string, trial: Assigned): Promise<Work & { readonly kind: 'trial' }> {
    const { number, role, candidate, levels, requested, bottleneck, prior } = trial;
    const attempt = (this.#attempts.get(number) ?? 0) + 1;
    this.#attempts.set(number, attempt);
    await this.#recorder.record({
      type: 'trial-started',
      trial: number,
      role,
      candidate,
      levels,
      server,
      attempt,
      ...(requested && { requested }),
      ...(bottleneck && { bottleneck }),
      ...(prior !== undefined && { prior }),
    });
    const { assignment, fingerprint } = candidate;
    const what = { kind: 'trial', server, trial: number, assignment, fingerprint, levels, isFull: false } as const;
    return { id: `trial-${number}.${attempt}`, attempt, ...what };
  }

  original(server: string, levels: LevelPlan): Work {
    const { started, servers } = this.#recorder.state;
    const { assignment, fingerprint } = started.original;
    const times = (servers.find(({ name }) => name === server)?.originals ?? 0) + 1;
    const what = { kind: 'original', server, trial: BASELINE, assignment, fingerprint, levels, isFull: false } as const;
    return { id: `original-${server}.${times}`, attempt: times, ...what };
  }

  final(server: string, step: Extract<FinalStep, { readonly kind: 'measure' }>, turn: number): Work {
    const { trial, level, isLook } = step;
    const { assignment, fingerprint } = trial.candidate;
    const { value, batch } = level;
    const levels = { kind: 'fixed', values: [value], ...(batch !== undefined && { batch }) } as const;
    const what = {
      kind: 'final',
      server,
      trial: trial.number,
      assignment,
      fingerprint,
      levels,
      isFull: !isLook,
    } as const;
    return { id: `${FINAL}${turn}`, attempt: turn, ...what };
  }
}
