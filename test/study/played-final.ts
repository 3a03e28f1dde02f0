import type { Measurement } from '#profiler/measurement.ts';
import type { Decision } from '#study/final/decide.ts';
import { nextFinal } from '#study/final/final.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { foldStudy, StudyFold } from '#study/records/fold.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { EstimateSpeeds } from '#study/speed/speeds.ts';
import type { Goal, Trial } from '#study/types.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from './builders.ts';

/** What a made-up config does at a load level. */
export interface Law {
  /** infer/s. */
  throughput(level: number): number;
  p99Ms(level: number): number;
}

/**
 * A config that takes `alone` milliseconds for one request, and whose instances are busy from a
 * level on: what comes on top waits (Little's law). The p99 is as late as the mean.
 */
export function saturating({ aloneMs, most }: { readonly aloneMs: number; readonly most: number }): Law {
  const throughput = (level: number): number => Math.min(most, (1000 * level) / aloneMs);
  return { throughput, p99Ms: (level) => (1000 * level) / throughput(level) };
}

/** A config that serves the same at every level, with a p99 of its own. */
export const flat = (throughput: number, p99Ms: number): Law => ({ throughput: () => throughput, p99Ms: () => p99Ms });

/** One config of a study, and at which levels the search has read it. */
export interface Searched {
  readonly law: Law;
  readonly levels: readonly number[];
  /** How much later or earlier than its law the search saw it. */
  readonly luck?: number;
  /** Half the relative 95 % interval of its throughput; 0.02 when not given. */
  readonly doubt?: number;
}

export interface Study {
  readonly original: Searched;
  /** The trials of the search from number 1 on. */
  readonly rivals: readonly Searched[];
  readonly goal?: Goal;
  readonly started?: Partial<StudyStarted>;
}

export const BUDGET_MS = 10;

export function readingOf(
  { throughput, p99Ms }: Law,
  level: number,
  { luck = 1, doubt = 0.02 }: Pick<Searched, 'luck' | 'doubt'> = {},
): Measurement {
  const served = throughput(level);
  return measured(level, served, luck * p99Ms(level), {
    throughput: { value: served, low: served * (1 - doubt), high: served * (1 + doubt) },
  });
}

/** Stamps records one after the other, two seconds apart. */
function stamps(): () => { readonly at: string; readonly runMs: number } {
  let seconds = 0;
  return () => {
    seconds += 2;
    return { at: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString(), runMs: 1000 * seconds };
  };
}

/** The journal of a study whose search is over. */
export function searchedStudy({ original, rivals, goal = goalOf(BUDGET_MS), started }: Study): StudyRecord[] {
  const stamp = stamps();
  const trials = [original, ...rivals].flatMap((config, trial): StudyRecord[] => {
    const candidate = toCandidate(configOf(trial + 1, 1), { count: trial + 1 });
    const measurements = config.levels.map((level) => asIn(started, readingOf(config.law, level, config)));
    const role = trial === 0 ? 'baseline' : 'search';
    return [
      { type: 'trial-started', ...stamp(), trial, role, candidate },
      ...measurements.map((measurement): StudyRecord => ({ type: 'trial-measured', ...stamp(), trial, measurement })),
      { type: 'trial-finished', ...stamp(), trial, ...computeStanding(measurements, candidate, goal), failure: null },
    ];
  });
  return [studyStarted(goal, { runMs: 0, ...started }), ...trials];
}

const asIn = (started: Study['started'], measurement: Measurement): Measurement => {
  const mode = started?.levels?.mode ?? 'concurrency';
  return mode === 'concurrency' ? measurement : { ...measurement, level: { mode, value: measurement.level.value } };
};

/** What one config was measured at, one time after another, in one round. */
export interface Visit {
  readonly round: number;
  readonly trial: number;
  readonly levels: number[];
}

/** A measurement of the final that is about to be made. */
export interface Turn {
  readonly trial: number;
  readonly level: number;
  readonly round: number;
  /** How many were made in the final before, void ones too. */
  readonly before: number;
}

export interface Played {
  readonly visits: readonly Visit[];
  /** The rounds that did not count, as the final told. */
  readonly voided: readonly { readonly round: number; readonly slower: number }[];
  readonly decision: Decision | null;
  readonly records: readonly StudyRecord[];
}

const MAX_STEPS = 100;

interface PlayOptions {
  readonly rounds?: number;
  /** What a turn gives; by the law of the config when not given. */
  readonly read?: (turn: Turn) => Measurement;
  /** Steps that it may take. */
  readonly most?: number;
  readonly estimateSpeeds?: EstimateSpeeds;
}

/** Plays the final to its end. */
export function playFinal(study: Study, options: PlayOptions = {}): Played {
  const { rounds = 2, read = (turn) => lawful(study, turn), most = MAX_STEPS, estimateSpeeds } = options;
  const fold = new StudyFold(estimateSpeeds);
  const records: StudyRecord[] = [];
  const add = (record: StudyRecord): void => {
    records.push(record);
    fold.add(record);
  };
  for (const record of searchedStudy(study)) add(record);
  const stamp = stampsAfter(records);
  const visits: Visit[] = [];
  const voided: { round: number; slower: number }[] = [];
  for (let steps = 0, before = 0; steps < most; steps++) {
    const step = nextFinal(fold.state(), rounds);
    if (step?.kind === 'void') {
      const { round, slower } = step;
      voided.push({ round, slower });
      add({ type: 'round-voided', ...stamp(), round, slower });
      continue;
    }
    if (step?.kind !== 'measure') return { visits, voided, decision: step?.decision ?? null, records };
    const { round, rest } = step;
    const level = step.level.value;
    const trial = step.trial.number;
    const measurement = asIn(study.started, read({ trial, level, round, before }));
    before++;
    const last = visits.at(-1);
    if (last?.trial === trial && last.round === round && !step.opensRound) last.levels.push(level);
    else visits.push({ round, trial, levels: [level] });
    add({ type: 'final-measured', ...stamp(), trial, round, rest, measurement });
  }
  throw new Error(`the final does not end within ${most} steps`);
}

function stampsAfter(records: readonly StudyRecord[]) {
  const stamp = stamps();
  for (let taken = 1; taken < records.length; taken++) stamp();
  return stamp;
}

/** What the law of the config says, every time. */
export const lawful = ({ original, rivals }: Study, { trial, level }: Turn): Measurement =>
  readingOf(([original, ...rivals][trial] as Searched).law, level);

/** Who was measured in each round, in turn. */
export const turnsOf = ({ visits }: Played): number[][] =>
  [...Map.groupBy(visits, ({ round }) => round).values()].map((own) => own.map(({ trial }) => trial));

export const visitsOf = ({ visits }: Played, trial: number): number[][] =>
  visits.filter((visit) => visit.trial === trial).map(({ levels }) => levels);

/** The state after the decision. */
export function decided({ records, decision }: Played) {
  if (!decision) throw new Error('the final decided nothing');
  const [{ at }] = records.slice(-1) as [StudyRecord];
  return foldStudy([...records, { type: 'gain-decided', at, ...decision }]);
}

/** The trial of that number. */
export function trialOfNumber(trials: readonly Trial[], number: number): Trial {
  const trial = trials.find((each) => each.number === number);
  if (!trial) throw new Error(`no trial ${number}`);
  return trial;
}
