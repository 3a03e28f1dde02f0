import type { Clock } from '../base/clock.ts';
import type { Narrowing } from '../space/narrowing.ts';
import type { Journal } from '../study/records/journal.ts';
import type { StudyRecord, StudyStarted } from '../study/records/records.ts';
import type { EstimateSpeeds } from '../study/speed/speeds.ts';
import type { Goal, Sampler } from '../study/types.ts';
import type { TunedAdapter } from './adapter.ts';
import type { Tracing } from './seams.ts';
import type { Steering } from './steering.ts';
import type { StudyRecorder } from './study-recorder.ts';
import type { TimeKeeper, UsualTime } from './time-keeper.ts';

/** What is to be tuned, and within which limits. */
export interface TunePlan {
  /** What is written down before anything is changed; a resumed study keeps what its journal says. */
  readonly study: Omit<StudyStarted, 'type' | 'at'>;
  /** Trials of the search, the baseline not among them; Infinity for no limit. */
  readonly maxTrials: number;
  /** Milliseconds for all runs of the study together; Infinity for no limit. */
  readonly timeBudgetMs: number;
  /** For a sampler that decides by itself when it is enough: the run aims at what such runs take. Else it is as long as it turns out to be. */
  readonly usual?: UsualTime;
  /** How often the best and the baseline are measured in turn at the end; 0 for no final. */
  readonly finalRounds: number;
  /** So long the server may be away before the run ends; 20 s when not given. */
  readonly maxOutageMs?: number;
  /** Go on although others send requests to the model; without it that ends the run. */
  readonly allowForeignTraffic: boolean;
  /** The records of the study that is resumed; empty for a new one. */
  readonly earlier: readonly StudyRecord[];
}

/** What the tuner works with. */
export interface TuneParts {
  readonly adapter: TunedAdapter;
  readonly sampler: Sampler;
  /** The sampler for another goal, or for a part of the space; without it `sampler` serves every goal, and the whole space. */
  readonly samplerFor?: (goal: Goal, narrowing: Narrowing) => Sampler;
  readonly journal: Pick<Journal, 'append'>;
  readonly clock: Clock;
  /** How the speed of the machine is found, to compare what was measured at different times; by `speedsOf` when not given. */
  readonly estimateSpeeds?: EstimateSpeeds;
  /** With it the best is measured once more at the end, traced. */
  readonly tracing?: Tracing;
  /** Through which a person steers the run, if one does. */
  readonly steering?: Steering;
}

/** One run under way: the plan, the parts, and what the steps share. */
export interface Run {
  readonly plan: TunePlan;
  readonly parts: TuneParts;
  readonly recorder: StudyRecorder;
  readonly time: TimeKeeper;
  readonly steering: Steering;
  /** For the goal and the search space of the moment. */
  readonly sampler: () => Sampler;
  readonly signal: AbortSignal;
}

/** What decides on the next step of a run: of servers it only says which candidates there are. */
export type Planning = Pick<Run, 'plan' | 'recorder' | 'time' | 'steering' | 'sampler'> & {
  readonly parts: { readonly adapter: Pick<TunedAdapter, 'build'> };
};

/** Trial number of the original config; the search counts from 1. */
export const BASELINE = 0;
