import type { LoadLevel } from '../loadgen/types.ts';
import { foldStudy } from '../study/fold.ts';
import { type Prediction, predictBest } from '../study/prediction.ts';
import type { StudyRecord } from '../study/records.ts';
import type { StudyState } from '../study/state.ts';
import type { TunerEvent } from '../tuner/seams.ts';

/** What the run does at the moment. */
export type Activity =
  | { readonly kind: 'starting' | 'choosing' | 'restoring' | 'finished' }
  | { readonly kind: 'loading'; readonly trial: number }
  | { readonly kind: 'warming'; readonly trial: number; readonly level: LoadLevel }
  | {
      readonly kind: 'measuring';
      readonly trial: number;
      readonly level: LoadLevel;
      readonly window: number;
      /** infer/s, and the budgeted percentile, of the windows so far. */
      readonly throughput: number;
      readonly latencyMs: number;
    };

/** Where the search ends at the latest; null for no limit. */
export interface SearchLimits {
  readonly maxTrials: number | null;
  readonly timeBudgetSeconds: number | null;
}

/** All that the screen shows of the study: a fold over the tuner's events. */
export interface ViewState {
  readonly records: readonly StudyRecord[];
  /** null before the study's first record. */
  readonly study: StudyState | null;
  readonly activity: Activity;
  readonly limits: SearchLimits;
  readonly isPaused: boolean;
  /** What the sampler expects of the trial that it proposed last, as a share of the best; null where it has no notion. */
  readonly expectedGain: number | null;
  /** What the queueing model expects of the best from the other trials alone; null where it cannot say. */
  readonly predicted: Prediction | null;
}

export const initialView: ViewState = {
  records: [],
  study: null,
  activity: { kind: 'starting' },
  limits: { maxTrials: null, timeBudgetSeconds: null },
  isPaused: false,
  expectedGain: null,
  predicted: null,
};

/** The view after the records of an earlier run, or of a finished one. */
export function viewOf(records: readonly StudyRecord[]): ViewState {
  if (records.length === 0) return initialView;
  const study = foldStudy(records);
  return { ...initialView, records, study, predicted: predictBest(study) };
}

/** Pure: the view after one more event. */
export function reduce(view: ViewState, event: TunerEvent): ViewState {
  switch (event.type) {
    case 'limits':
      return { ...view, limits: { maxTrials: event.maxTrials, timeBudgetSeconds: event.timeBudgetSeconds } };
    case 'proposed':
      return { ...view, expectedGain: event.expectedGain };
    case 'applying':
      return { ...view, activity: { kind: 'loading', trial: event.trial } };
    case 'measuring':
      return { ...view, activity: { kind: 'warming', trial: event.trial, level: event.level } };
    case 'progress':
      return { ...view, activity: progressed(event) };
    case 'restoring':
      return { ...view, activity: { kind: 'restoring' } };
    default:
      return recorded(view, event);
  }
}

function progressed({ trial, level, progress }: Extract<TunerEvent, { type: 'progress' }>): Activity {
  if (progress.phase === 'warm-up') return { kind: 'warming', trial, level };
  const { window, throughput, latencyMs } = progress;
  return { kind: 'measuring', trial, level, window, throughput, latencyMs };
}

const mayChangeBest: ReadonlySet<StudyRecord['type']> = new Set(['trial-finished', 'goal-changed', 'gain-decided']);

function recorded(view: ViewState, record: StudyRecord): ViewState {
  const records = [...view.records, record];
  const study = foldStudy(records);
  // A simulation takes some milliseconds: between two trials, when nothing is measured that it could disturb.
  const predicted = mayChangeBest.has(record.type) ? predictBest(study) : view.predicted;
  const activity = activityAfter(record, view.activity);
  return { ...view, records, study, activity, predicted, isPaused: pausedAfter(record, view.isPaused) };
}

function activityAfter({ type }: StudyRecord, before: Activity): Activity {
  switch (type) {
    case 'study-started':
    case 'study-resumed':
    case 'trial-finished':
      return { kind: 'choosing' };
    case 'study-finished':
      return { kind: 'finished' };
    default:
      return before;
  }
}

function pausedAfter({ type }: StudyRecord, before: boolean): boolean {
  if (type === 'study-paused') return true;
  return type === 'study-continued' || type === 'study-finished' ? false : before;
}
