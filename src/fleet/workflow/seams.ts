import type { Machine } from '#profiler/machine.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { SteeringCommand } from '#tuner/steering.ts';
import type { Steered } from '../study/pause.ts';
import type { Directive, StudyEnd, WorkReport } from '../study/report.ts';
import type { ServerRestored, Work, WorkOutcome } from '../study/work.ts';

/** A study, and its group of servers. */
export interface StudyOrder {
  /** The name of the study, and of its workflow. */
  readonly study: string;
  readonly group: string;
  readonly spec: StudySpec;
  readonly commandLine: readonly string[];
}

/** The input of a study's workflow, and of its continuation after its history has become long. */
export interface StudyInput extends StudyOrder {
  /**
   * The worker that keeps the journal, and the servers that must be restored; the continuation
   * alone has them.
   */
  readonly keeper?: string;
  readonly held?: readonly string[];
  readonly steered?: Steered;
  /** The number of events and bytes of a history after which the workflow starts anew. */
  readonly historyLimit?: { readonly events: number; readonly bytes: number };
  /** Hours that the machine of a server that must be restored may be away. */
  readonly restoreHours?: number;
}

/** Activities that any worker of a group can do. */
export interface GroupActivities {
  /** Returns the name of this worker's journals. From here on, it keeps the study's journal. */
  claim(): Promise<string>;
}

/** Activities of the worker that keeps a study's journal. */
export interface KeeperActivities {
  /** Opens the study, or continues it. Returns what servers need to know about it. */
  openStudy(order: StudyOrder): Promise<StudyStarted>;
  /** Records a report. Also returns the servers of the group whose workers have polled lately. */
  advance(study: string, report: WorkReport): Promise<Directive & { readonly servers: readonly string[] }>;
  /** Records how it ended, and writes the documents. */
  concludeStudy(study: string, ending: Ending): Promise<void>;
  /** Returns records from that number on, as in the journal. Waits a while for the first. */
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

/** What a server's worker says of it when it takes a study; nothing from earlier versions. */
export type TakenServer = { readonly machine: Machine } | null | undefined;

/** Activities of a server's worker. */
export interface ServerActivities {
  /** Takes the server for the study. From here on it may be changed, and must be restored. */
  hold(study: string, started: StudyStarted): Promise<TakenServer>;
  work(study: string, work: Work): Promise<WorkOutcome>;
  restore(study: string): Promise<ServerRestored>;
}

/** The progress of a study under way. */
export interface FleetProgress {
  readonly keeper: string | null;
  readonly running: readonly Work[];
  readonly idle: readonly string[];
  /** Servers that must be restored. */
  readonly held: readonly string[];
  /**
   * Those of them that are getting ready for the study; absent from workers of an earlier version.
   */
  readonly joining?: readonly string[];
  readonly phase: 'opening' | 'tuning' | 'restoring' | 'over';
}

export type WorkflowCommand = SteeringCommand;
