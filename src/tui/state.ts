import type { LoadLevel } from '#loadgen/types.ts';
import type { WindowProgress } from '#profiler/progress.ts';
import { StudyFold } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Prediction } from '#study/summary/point-schema.ts';
import { predictBest } from '#study/summary/prediction.ts';
import type { SearchLimits } from '#study/summary/search-progress.ts';
import type { PredictedPoint } from '#study/types.ts';
import type { TunerEvent } from '#tuner/seams.ts';

/** The run's current activity. */
export type Activity =
  | { readonly kind: 'starting' | 'choosing' | 'restoring' | 'finished' }
  | { readonly kind: 'loading'; readonly trial: number }
  | { readonly kind: 'away'; readonly reason: string }
  | {
      readonly kind: 'warming' | 'waking' | 'starved' | 'held-up';
      readonly trial: number;
      readonly level: LoadLevel;
      readonly workload?: string;
    }
  | {
      readonly kind: 'measuring';
      readonly trial: number;
      readonly level: LoadLevel;
      readonly window: number;
      /** Throughput in infer/s, and the budgeted percentile, of the windows so far. */
      readonly throughput: number;
      readonly latencyMs: number;
      /** The figures of each model, if several get their own requests. */
      readonly fronts?: WindowProgress['fronts'];
      /** The current workload, if a level is measured under several in turn. */
      readonly workload?: string;
    };

/** Everything that the screen shows about the study. */
export interface ViewState {
  /** null before the study's first record. */
  readonly study: StudyState | null;
  readonly activity: Activity;
  readonly limits: SearchLimits;
  readonly isPaused: boolean;
  /**
   * The sampler's expected gain from its last proposal, as a share of the best; null if it predicts
   * none.
   */
  readonly expectedGain: number | null;
  /**
   * The front that the sampler predicted then, of points not measured yet; empty if it predicts
   * none.
   */
  readonly predictedFront: readonly PredictedPoint[];
  /**
   * The queueing model's prediction for the best from the other trials alone; null if there is
   * none.
   */
  readonly predicted: Prediction | null;
}

/** True during the search: after the study's first record, and before the final. */
export function isSearching({ study, activity }: Pick<ViewState, 'study' | 'activity'>): boolean {
  if (study === null || study.finished !== null || study.finals.length > 0) return false;
  return !isOfFinal(study, activity);
}

/** A finished trial that is loaded or measured again belongs to the final. */
export const isOfFinal = ({ trials }: StudyState, activity: Activity): boolean =>
  'trial' in activity && trials.some(({ number }) => number === activity.trial);

/**
 * Predicts the best again when it changes, and when the number of trials has grown by this factor.
 */
const MORE_TRIALS = 1.25;

/**
 * Takes the tuner's events one by one, each in constant time, and returns the view after the last
 * of them. Computes the study's state only when it is needed. `earlier`: records of the runs before
 * this one.
 */
export class ViewFold {
  readonly #study = new StudyFold();
  #hasStudy = false;
  #now: Omit<ViewState, 'study' | 'predicted'> = {
    activity: { kind: 'starting' },
    limits: { maxTrials: null, timeBudgetSeconds: null, usualSeconds: null },
    isPaused: false,
    expectedGain: null,
    predictedFront: [],
  };
  #state: StudyState | null = null;
  #kept: { readonly of: string; readonly trials: number; readonly prediction: Prediction | null } | null = null;
  #view: ViewState | null = null;

  constructor(earlier: readonly StudyRecord[] = []) {
    for (const record of earlier) {
      this.#add(record);
      this.#now = { ...this.#now, isPaused: pausedAfter(record, this.#now.isPaused) };
    }
  }

  /** Seconds of the study, up to the last record. */
  get elapsedSeconds(): number {
    return this.#study.elapsedSeconds;
  }

  add(event: TunerEvent): void {
    this.#now = { ...this.#now, ...computeChange(event, this.#now) };
    this.#view = null;
    if ('at' in event) this.#add(event);
  }

  /** Returns the same object until another event comes. */
  view(): ViewState {
    if (this.#view) return this.#view;
    if (this.#hasStudy) this.#state ??= this.#study.state();
    this.#view = { ...this.#now, study: this.#state, predicted: this.#state && this.#predict(this.#state) };
    return this.#view;
  }

  #add(record: StudyRecord): void {
    this.#study.add(record);
    this.#hasStudy = true;
    this.#state = null;
  }

  /**
   * A fit and a simulation take longer the more was measured, but one more trial hardly changes
   * them.
   */
  #predict(study: StudyState): Prediction | null {
    const { best, goal, trials } = study;
    const of = JSON.stringify([best?.number, best?.chosen, goal.budget]);
    const known = this.#kept;
    if (known && known.of === of && trials.length < MORE_TRIALS * known.trials) return known.prediction;
    const prediction = predictBest(study);
    this.#kept = { of, trials: trials.length, prediction };
    return prediction;
  }
}

type Change = Partial<Omit<ViewState, 'study' | 'predicted'>>;

/** Returns the event's effect on the current activity. */
function computeChange(event: TunerEvent, before: Pick<ViewState, 'activity' | 'isPaused'>): Change {
  switch (event.type) {
    case 'limits': {
      const { type: _, ...limits } = event;
      return { limits };
    }
    case 'proposed':
      return { expectedGain: event.expectedGain, predictedFront: event.foreseen };
    case 'applying':
      return { activity: { kind: 'loading', trial: event.trial } };
    case 'measuring':
      return { activity: { kind: 'warming', trial: event.trial, level: event.level } };
    case 'starved':
      return { activity: { kind: 'starved', trial: event.trial, level: event.level } };
    case 'progress':
      return { activity: progressed(event) };
    case 'server-away':
      return { activity: { kind: 'away', reason: event.reason } };
    case 'noise-floor':
      return {};
    case 'restoring':
      return { activity: { kind: 'restoring' } };
    case 'speed-changed':
      // The study's own state has it already.
      return {};
    case 'trial-started':
      // The sampler's expectation was for its own proposal.
      return event.requested ? { expectedGain: null } : {};
    default:
      return { activity: activityAfter(event, before.activity), isPaused: pausedAfter(event, before.isPaused) };
  }
}

function progressed({ trial, level, progress }: Extract<TunerEvent, { type: 'progress' }>): Activity {
  const at = { trial, level, ...(progress.workload !== undefined && { workload: progress.workload }) };
  if (progress.phase === 'warm-up') return { kind: 'warming', ...at };
  if (progress.phase === 'first-answers') return { kind: 'waking', ...at };
  if (progress.phase === 'void') return { kind: 'held-up', ...at };
  const { window, throughput, latencyMs, fronts } = progress;
  return { kind: 'measuring', ...at, window, throughput, latencyMs, ...(fronts && { fronts }) };
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
  return ['study-continued', 'study-resumed', 'study-finished'].includes(type) ? false : before;
}
