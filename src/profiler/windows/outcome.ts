import type { VoidProgress, WindowProgress } from '../measurement.ts';
import type { CountedWindows } from './log.ts';

/** The windows that are the measurement. */
export interface WindowsOutcome extends CountedWindows {
  /** False when the rule was never met: the figures are still those measured. */
  readonly stable: boolean;
  readonly budgetVerdict: 'met' | 'missed' | null;
  /** Windows that were dropped because of cold executions in them. */
  readonly coldWindows: number;
  /** Windows that were dropped because of what held the load generator up in them. */
  readonly voidWindows: number;
}

export type OnWindow = (progress: WindowProgress | VoidProgress) => void;
