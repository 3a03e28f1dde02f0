import type { StudySpec } from '../../spec/study-spec.ts';
import type { StudyRecord, StudyStarted } from '../../study/records/records.ts';
import type { SteeringCommand } from '../../tuner/steering.ts';
import type { Directive, Report, StudyEnd } from '../study/conductor.ts';
import type { ServerRestored, Work, WorkOutcome } from '../study/work.ts';

/** A study, and the group of servers that it is over. */
export interface StudyOrder {
  /** The name of the study, and of its workflow. */
  readonly study: string;
  readonly group: string;
  readonly spec: StudySpec;
  readonly commandLine: readonly string[];
}

/** What any worker of a group does. */
export interface GroupActivities {
  /** The name of this worker's journals: from here on it keeps that of the study. */
  claim(): Promise<string>;
}

/** What the worker does that keeps the journal of a study. */
export interface KeeperActivities {
  /** Opens the study, or goes on with it. Returns what servers need to know of it. */
  openStudy(order: StudyOrder): Promise<StudyStarted>;
  /** The servers of the group whose workers have asked for work lately. */
  advance(study: string, report: Report): Promise<Directive & { readonly servers: readonly string[] }>;
  /** Writes down how it ended, and the documents. */
  concludeStudy(study: string, ending: Ending): Promise<void>;
  /** Records from the one of that number on, as the journal has them; waits a while for the first. */
  readRecords(study: string, from: number): Promise<RecordsPart>;
}

export interface Ending {
  readonly end: StudyEnd;
  readonly restored: readonly ServerRestored[];
  readonly interrupted: boolean;
}

export interface RecordsPart {
  readonly records: readonly StudyRecord[];
  /** True when the study is over and nothing follows. */
  readonly isEnd: boolean;
}

/** What the worker of a server does. */
export interface ServerActivities {
  /** Takes the server for the study: from here on it may be changed, and must be restored. */
  hold(study: string, started: StudyStarted): Promise<void>;
  work(study: string, work: Work): Promise<WorkOutcome>;
  restore(study: string): Promise<ServerRestored>;
}

/** What is told of a study under way. */
export interface FleetProgress {
  readonly keeper: string | null;
  readonly running: readonly Work[];
  readonly idle: readonly string[];
  /** Servers that must be restored. */
  readonly held: readonly string[];
  readonly phase: 'opening' | 'tuning' | 'restoring' | 'over';
}

export type Command = SteeringCommand;
