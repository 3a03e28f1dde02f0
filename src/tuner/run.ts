import type { Clock } from '#base/clock.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { Journal } from '#study/records/journal.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { EstimateSpeeds } from '#study/speed/speeds.ts';
import type { Goal, Sampler } from '#study/types.ts';
import type { TunedAdapter } from './adapter.ts';
import type { Tracing } from './seams.ts';
import type { Steering } from './steering.ts';
import type { StudyRecorder } from './study-recorder.ts';
import type { TimeKeeper, UsualTime } from './time-keeper.ts';

/** The study to tune, and its limits. */
export interface TunePlan {
  /** The record that is written before any change; a resumed study keeps its journal's. */
  readonly study: Omit<StudyStarted, 'type' | 'at'>;
  /** Trials of the search, without the baseline; Infinity for no limit. */
  readonly maxTrials: number;
  /** Milliseconds for all runs of the study together; Infinity for no limit. */
  readonly timeBudgetMs: number;
  /**
   * For a sampler that decides itself when to stop: the run aims at the usual duration of such
   * runs. Without it the run has no aim.
   */
  readonly usual?: UsualTime;
  /** How many times the best and the baseline are measured in turn at the end; 0 for no final. */
  readonly finalRounds: number;
  /** The longest outage of the server before the run ends; default 20 s. */
  readonly maxOutageMs?: number;
  /**
   * Continue although others send requests to the model; otherwise foreign requests end the run.
   */
  readonly allowForeignTraffic: boolean;
  /** The records of the study that is resumed; empty for a new one. */
  readonly earlier: readonly StudyRecord[];
}

/** The parts that the tuner works with. */
export interface TuneParts {
  readonly adapter: TunedAdapter;
  readonly sampler: Sampler;
  /**
   * The sampler for another goal, or for a part of the space; without it `sampler` serves every
   * goal, and the whole space.
   */
  readonly samplerFor?: (goal: Goal, narrowing: Narrowing) => Sampler;
  readonly journal: Pick<Journal, 'append'>;
  readonly clock: Clock;
  /**
   * Estimates the speed of the machine, to compare measurements made at different times; default
   * `fitSpeeds`.
   */
  readonly estimateSpeeds?: EstimateSpeeds;
  /** If present, the best is measured once more at the end, traced. */
  readonly tracing?: Tracing;
  /** The user's controls of the run, if any. */
  readonly steering?: Steering;
}

/** One run under way: the plan, the parts, and what the steps share. */
export interface Run {
  readonly plan: TunePlan;
  readonly parts: TuneParts;
  readonly recorder: StudyRecorder;
  readonly time: TimeKeeper;
  readonly steering: Steering;
  /** For the current goal and search space. */
  readonly sampler: () => Sampler;
  readonly signal: AbortSignal;
}

/**
 * The state that decides the next step of a run. It knows only which candidates a server could
 * have.
 */
export type Planning = Pick<Run, 'plan' | 'recorder' | 'time' | 'steering' | 'sampler'> & {
  readonly parts: { readonly adapter: Pick<TunedAdapter, 'build'> };
};

/** Trial number of the original config; the search counts from 1. */
export const BASELINE = 0;
