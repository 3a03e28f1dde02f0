/** The profiler's progress, for observers. */
export type ProfileProgress = (
  | { readonly phase: 'warm-up' }
  | { readonly phase: 'first-answers' }
  | WindowProgress
  | VoidProgress
) & {
  /** The workload, if a level is measured under several in turn. */
  readonly workload?: string;
};

/**
 * A window was dropped because of a pause of the load generator; `voidWindows` counts the dropped
 * ones so far.
 */
export interface VoidProgress {
  readonly phase: 'void';
  readonly voidWindows: number;
}

/** After a window: the figures so far, and those of this window. */
export interface WindowProgress {
  readonly phase: 'window';
  readonly window: number;
  readonly throughput: number;
  /** The budgeted percentile; for several fronts the highest. */
  readonly latencyMs: number;
  readonly latest: SingleWindowFigures;
  /** The same for each front, if there are several. */
  readonly fronts?: readonly { readonly model: string; readonly throughput: number; readonly latencyMs: number }[];
}

/** Figures of one window. */
export interface SingleWindowFigures {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyAvgMs: number;
  readonly latencyStdMs: number;
  /** The percentile of the stopping rule, or else the budgeted one. */
  readonly latencyPercentileMs: number;
  readonly requests: number;
  readonly durationMs: number;
}
