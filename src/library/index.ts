/** What `import … from 'tritune'` gives: docs/library.md. */
export { type ErrorCode, isTrituneError, TrituneError } from '../base/errors.ts';
export type { LoadLevel } from '../loadgen/types.ts';
export type { Measurement } from '../profiler/measurement.ts';
export type { Assignment } from '../space/types.ts';
export type { Summary, SummaryPoint } from '../study/summary.ts';
export type { Constraint, Goal, LatencyBudget, Objective, Trial } from '../study/types.ts';
export type { ModelConfig } from '../triton/model-config.ts';
export type { TunerEvent } from '../tuner/seams.ts';
export type { TuneOptions } from './options.ts';
export { type DocumentsWritten, type TuneEvent, type TuneWatch, tune } from './tune.ts';
