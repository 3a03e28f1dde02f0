import type { WrittenRun } from '../../report/write-run.ts';
import type { TunerEvent } from '../../tuner/seams.ts';
import type { Steering } from '../../tuner/steering.ts';

/** How a study ended that no error ended. */
export type StudyOutcome = 'done' | 'infeasible' | 'interrupted';

/** Whoever watches a study. */
export interface StudyWatch {
  readonly onEvent: (event: TunerEvent) => void;
  /** Takes a line for people. */
  readonly tell: (line: string) => void;
  /** Called once, when the documents are written. */
  readonly onEnd: (written: WrittenRun) => void;
  /** Through which a person steers the study, where they can. */
  readonly steering?: Steering;
}
