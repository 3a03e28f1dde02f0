import type { VoidProgress, WindowProgress } from '../progress.ts';
import type { CountedWindows } from './log.ts';

/** The windows that form the measurement. */
export interface WindowsOutcome extends CountedWindows {
  /** False if the rule was never met; the figures are still as measured. */
  readonly stable: boolean;
  readonly budgetVerdict: 'met' | 'missed' | null;
  /** Windows that were dropped because they held cold executions. */
  readonly coldWindows: number;
  /** Windows that were dropped because of delays of the load generator. */
  readonly voidWindows: number;
}

export type OnWindow = (progress: WindowProgress | VoidProgress) => void;
