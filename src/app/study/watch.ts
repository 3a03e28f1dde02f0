import type { WrittenRun } from '#report/write-run.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { Steering } from '#tuner/steering.ts';

/** How a study ended without an error. */
export type StudyOutcome = 'done' | 'infeasible' | 'interrupted';

/** Callbacks of a study. */
export interface StudyWatch {
  readonly onEvent: (event: TunerEvent) => void;
  /** Called with messages for people. */
  readonly tell: (line: string) => void;
  /** Called once, after the documents are written. */
  readonly onEnd: (written: WrittenRun) => void;
  /** Lets a person steer the study; absent if they cannot. */
  readonly steering?: Steering;
}
