import type { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { Goal } from '../types.ts';
import type { record } from './record-kinds.ts';

/** A line as the schema reads it: its goal has no registry of metrics yet. */
type Read = z.output<typeof record>;

/** Its spec is the request for the study as it was checked, and its goal knows its metrics. */
type Known<R> = {
  readonly [K in keyof R]: K extends 'spec' ? StudySpec : K extends 'goal' ? Goal : ReadOnly<R[K]>;
};

type RecordOf<T extends Read['type']> = Known<Extract<Read, { type: T }>>;

/** A line of the journal, by its `type`; `schema/record.ts` says what each field is. */
export type StudyRecord = { [T in Read['type']]: RecordOf<T> }[Read['type']];

export type StudyStarted = RecordOf<'study-started'>;
/** The requests of the clients of a model. */
export type StartedClients = NonNullable<StudyStarted['clients']>[number];
/** The workloads of a study. Measurements have the figures of each if there are several. */
export type StartedWorkloads = NonNullable<StudyStarted['workloads']>;
export type ServerIdentity = StudyStarted['server'];
export type TrialStarted = RecordOf<'trial-started'>;
export type TrialApplied = RecordOf<'trial-applied'>;
export type TrialMeasured = RecordOf<'trial-measured'>;
export type TrialFinished = RecordOf<'trial-finished'>;
export type OriginalMeasured = RecordOf<'original-measured'>;
export type FinalMeasured = RecordOf<'final-measured'>;
export type ServerJoined = RecordOf<'server-joined'>;
export type ServerLeft = RecordOf<'server-left'>;
export type RoundVoided = RecordOf<'round-voided'>;
export type GainDecided = RecordOf<'gain-decided'>;
export type TracingStarted = RecordOf<'tracing-started'>;
export type TracingEnded = RecordOf<'tracing-ended'>;
/** Settings of a server's tracing, each with its values. */
export type RecordedTraceSettings = TracingStarted['earlier'];
export type ModelRestored = RecordOf<'model-restored'>;
export type StudyFinished = RecordOf<'study-finished'>;
