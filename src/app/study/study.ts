import type { AdapterSpace } from '#adapter/definition.ts';
import type { TrituneError } from '#base/errors.ts';
import type { WindowRule } from '#profiler/level-options.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate } from '#space/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { Metrics } from '#study/goal/metrics/registry.ts';
import type { Journal } from '#study/records/journal.ts';
import type { ServerIdentity, StartedClients, StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { Prior } from '#study/search/samplers/prior-studies.ts';
import type { SamplerKind } from '#study/search/samplers/registry.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';
import type { Tracing } from '#tuner/seams.ts';
import type { Seen } from './expected-duration.ts';
import type { StudiedWorkloads } from './read-workloads.ts';

/** A study whose directory and journal this process has locked. */
export interface OpenStudy {
  readonly spec: StudySpec;
  readonly sampler: SamplerKind;
  readonly target: TargetKind;
  /** The metrics that the goal may name. */
  readonly metrics: Metrics;
  /** The workloads of the study; null for even rates and closed loops. */
  readonly workloads: StudiedWorkloads | null;
  /** Earlier studies, which the sampler starts from. */
  readonly priors: readonly Prior[];
  readonly directory: string;
  readonly journal: Journal;
  /** The records of earlier runs; empty for a new study. */
  readonly earlier: readonly StudyRecord[];
  /** The first record of a resumed study, else null. */
  readonly started: StudyStarted | null;
  /** The command line for the journal of a new study; empty for a study started by a program. */
  readonly commandLine: readonly string[];
}

/** A kind of servers that studies are about. */
export interface TargetKind {
  /** Recorded in journals; a study continues with the kind of the same name. */
  readonly name: string;
  /**
   * Opens the server of a study, which no other run of tritune on this machine changes until it is
   * closed. Errors: MODEL_LOCKED, SERVER_*, USAGE, INPUT_INVALID, SPACE_INVALID, UNSUPPORTED; on an
   * error, everything is as it was.
   */
  open(study: StudyOfTarget, setting: TargetSetting): Promise<Target>;
}

/** The part of a study that its target needs. */
export type StudyOfTarget = Pick<OpenStudy, 'spec' | 'sampler' | 'workloads' | 'directory' | 'earlier' | 'started'>;

/** What opening a target needs beside its study. */
export interface TargetSetting {
  readonly signal: AbortSignal;
  /** Called with messages for people. */
  readonly tell: (line: string) => void;
  /**
   * The first record of a study that began on another server; this one must serve the same model.
   */
  readonly began?: StudyStarted | null;
  /** The rule for the windows of each measurement, if not the usual one. */
  readonly windows?: Partial<WindowRule>;
}

/** What a study tunes, before anything is changed or sent. */
export interface DescribedTarget {
  /** The name of its kind. */
  readonly name: string;
  readonly identity: ServerIdentity;
  readonly original: Candidate;
  readonly space: AdapterSpace;
  readonly wasLoaded: boolean;
  readonly unloadedOthers?: readonly string[] | undefined;
  /** Absent for a single model. */
  readonly topology?: Topology | undefined;
  readonly clients?: readonly StartedClients[] | undefined;
  /** What was made up for the requests, known once they are; one line for each input. */
  readonly assumptions?: readonly string[] | undefined;
}

/** Something that serves, on which load is played, and whose candidates are applied. */
export interface Target extends DescribedTarget {
  readonly adapter: ServerAdapter;
  /** Present if the study traces. */
  readonly tracing?: Tracing | undefined;
  /** Returns what is seen of the original before the study. May send a few requests. */
  look(): Promise<Seen>;
  /**
   * Returns the error of a server that was started for the study and has ended by itself; null for
   * any other.
   */
  failure(): TrituneError | null;
  /** Closes what is open, and releases the server. Errors: RESTORE_FAILED. */
  close(left: Left): Promise<void>;
}

/**
 * How a driver leaves a target: `restored` by its adapter, `untouched`, or `changed`, which the
 * next run is to find.
 */
export type Left = 'restored' | 'untouched' | 'changed';
