import { TrituneError } from '#base/errors.ts';
import { canonicalJson } from '#base/json.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { Candidate } from '#space/types.ts';
import { computeFront } from '../goal/ranking.ts';
import type { TimedMeasurement } from '../speed/evidence.ts';
import { type EstimateSpeeds, fitSpeeds } from '../speed/speeds.ts';
import type { Doubted, Goal, Trial, Wish } from '../types.ts';
import { withVerdict } from './earlier-decision.ts';
import { PhasesFold } from './phases.ts';
import type {
  FinalMeasured,
  GainDecided,
  ModelRestored,
  OriginalMeasured,
  ServerIdentity,
  StudyFinished,
  StudyRecord,
  StudyStarted,
  TrialApplied,
  TrialFinished,
  TrialMeasured,
  TrialStarted,
} from './records.ts';
import { RunningTime } from './running-time.ts';
import { ServersFold } from './servers-fold.ts';
import { type Standings, StandingsFold } from './standings.ts';
import type { StudyState, UnfinishedTrial } from './state.ts';

/**
 * Returns the state that the records give. Errors: JOURNAL_INVALID when they contradict each other;
 * UNSUPPORTED as `StudyFold.state`.
 */
export function foldStudy(records: readonly StudyRecord[], goal?: Goal): StudyState {
  const fold = new StudyFold();
  for (const record of records) fold.add(record);
  return fold.state(goal);
}

interface OpenTrial {
  readonly start: TrialStarted;
  /** Measurements of the earlier visit, for a trial that is visited again. */
  readonly earlier: readonly Measurement[];
  readonly measurements: Measurement[];
  applied?: NonNullable<Trial['applied']>;
}

/** Takes records one by one and gives the state after the last of them. */
export class StudyFold {
  readonly #standings: StandingsFold;
  /** Until a record changes them. */
  #knownStandings: Standings | null = null;
  #started: StudyStarted | null = null;
  #server: ServerIdentity | null = null;
  readonly #open = new Map<number, OpenTrial>();
  readonly #trials = new Map<number, Trial>();
  readonly #servers = new ServersFold();
  #doubted: readonly Doubted[] = [];
  #finals: FinalMeasured[] = [];
  #voidRounds = 0;
  #gain: GainDecided | null = null;
  #tracing: StudyState['tracing'] = null;
  #restored: ModelRestored | null = null;
  #finished: StudyFinished | null = null;
  /** All that was measured, in order; those of void rounds too. */
  readonly #timed: TimedMeasurement[] = [];
  #measurements = 0;
  #reloads = 0;
  #goal: Goal | null = null;
  #narrowing: Narrowing = {};
  readonly #requested: Wish[] = [];
  readonly #time = new RunningTime();
  readonly #phases = new PhasesFold();
  #loadMs = 0;

  constructor(estimateSpeeds: EstimateSpeeds = fitSpeeds) {
    this.#standings = new StandingsFold(estimateSpeeds);
  }

  /** Errors: JOURNAL_INVALID when the record contradicts earlier ones. */
  add(record: StudyRecord): void {
    if (record.type === 'study-started') this.#start(record);
    else if (!this.#started) contradiction(`${record.type} before study-started`);
    else this.#apply(record);
    if (!changesNoStanding.has(record.type)) this.#knownStandings = null;
    this.#time.pass(record);
    this.#phases.add(record, this.elapsedSeconds);
  }

  /** Seconds in which a run was under way, up to the last record. */
  get elapsedSeconds(): number {
    return this.#time.elapsedMs / MS_PER_S;
  }

  /**
   * Under the goal that the study has now, or ranked anew under another one. Computes what follows
   * from all trials when it is asked for: the loop asks for the state after every record, and
   * mostly for something else. Errors: UNSUPPORTED when no measurement has the metrics that the
   * other goal needs.
   */
  state(otherGoal?: Goal): StudyState {
    const started = this.#started ?? contradiction('it has no study-started');
    const goal = otherGoal ?? this.#goal ?? started.goal;
    const doubted = otherGoal ? [] : this.#doubted;
    const standings = otherGoal ? this.#standingsUnder(otherGoal) : this.#standingsNow();
    const gain = otherGoal ? null : this.#gain;
    const open = [...this.#open.values()].map(toUnfinished);
    const finals = [...this.#finals];
    const { list: phases } = this.#phases;
    const { length: phaseCount } = phases;
    const counted = { measurements: this.#measurements, reloads: this.#reloads };
    const contenderIn = (trials: readonly Trial[]): Trial | null =>
      trials.find(({ number }) => number === standings.foremost?.number) ?? null;
    let front: StudyState['front'] | undefined;
    let compared: StudyState['compared'] | undefined;
    const state: StudyState = {
      started,
      server: this.#server ?? started.server,
      goal,
      narrowing: this.#narrowing,
      requested: [...this.#requested],
      get trials() {
        return standings.trials;
      },
      unfinished: open.at(-1) ?? null,
      open,
      servers: this.#servers.list,
      doubted,
      get baseline() {
        return baselineIn(standings.trials);
      },
      get contender() {
        return contenderIn(standings.trials);
      },
      get speeds() {
        return standings.speeds;
      },
      get compared() {
        const { compared: trials, foremost, speeds } = standings;
        compared ??= {
          trials,
          baseline: baselineIn(trials),
          contender: foremost,
          finals: finals.map((final) => ({ ...final, measurement: speeds.comparable(final.measurement) })),
        };
        return compared;
      },
      get best() {
        const { trials } = standings;
        return gain ? (trials.find((trial) => trial.number === gain.best) ?? null) : contenderIn(trials);
      },
      finals,
      voidRounds: this.#voidRounds,
      gain,
      get front() {
        front ??= computeFront(standings.trials, goal);
        return front;
      },
      tracing: this.#tracing,
      restored: this.#restored,
      finished: this.#finished,
      get counts() {
        const { trials } = standings;
        return {
          trials: trials.length,
          ...counted,
          failed: trials.filter((trial) => trial.failure !== null).length,
        };
      },
      elapsedSeconds: this.elapsedSeconds,
      get phases() {
        return phases.slice(0, phaseCount);
      },
      loadSeconds: this.#loadMs / MS_PER_S,
    };
    // An error belongs to the question, not to the first look at the answer.
    if (otherGoal) void state.trials;
    return state;
  }

  #standingsNow(): Standings {
    this.#knownStandings ??= this.#standingsUnder(null);
    return this.#knownStandings;
  }

  #standingsUnder(otherGoal: Goal | null): Standings {
    const { goal } = this.#started ?? contradiction('it has no study-started');
    return this.#standings.at({
      finished: [...this.#trials.values()],
      timed: [...this.#timed],
      goal,
      otherGoal: otherGoal ?? this.#goal,
      doubted: otherGoal ? [] : this.#doubted,
    });
  }

  #start(record: StudyStarted): void {
    if (this.#started) contradiction('a second study-started');
    this.#started = record;
    this.#server = record.server;
  }

  #apply(record: Exclude<StudyRecord, StudyStarted>): void {
    switch (record.type) {
      case 'study-resumed':
        this.#server = record.server;
        this.#finished = null;
        // A change of this run is not in the journal until it is done.
        this.#restored = null;
        this.#forgetVisits();
        return;
      case 'study-paused':
      case 'study-continued':
        return;
      case 'goal-changed':
        this.#goal = record.goal;
        this.#doubted = [];
        return;
      case 'space-narrowed':
        this.#narrowing = record.narrowing;
        return;
      case 'trial-requested':
        this.#requested.push({ assignment: record.assignment, levels: record.levels });
        return;
      case 'trial-withdrawn':
        this.#withdraw(record);
        return;
      case 'trial-started':
        this.#open.delete(record.trial);
        this.#open.set(record.trial, this.#opened(record));
        this.#servers.start(record);
        if (record.requested) this.#requested.shift();
        return;
      case 'trial-applied':
        this.#applied(record);
        return;
      case 'trial-measured':
        this.#openTrial(record.trial).measurements.push(record.measurement);
        this.#timeMeasurement(record, this.#openTrial(record.trial).start);
        return;
      case 'trial-finished':
        this.#servers.finish(this.#openTrial(record.trial).start);
        this.#finish(record);
        return;
      case 'readings-doubted':
        for (const { trial } of record.readings) this.#finishedTrial(trial);
        this.#doubted = record.readings;
        return;
      case 'final-measured':
        this.#finals.push(this.#asKnown(record));
        this.#timeMeasurement(this.#finals.at(-1) as FinalMeasured, {
          candidate: this.#finishedTrial(record.trial).candidate,
          ...(record.server !== undefined && { server: record.server }),
        });
        // An earlier run's decision on the rounds that it had time for.
        this.#gain = null;
        return;
      case 'server-joined':
        this.#servers.join(record);
        return;
      case 'server-left':
        this.#servers.leave(record);
        return;
      case 'original-measured':
        this.#servers.measureOriginal(record);
        this.#timeMeasurement(record, { candidate: this.#original, server: record.server });
        return;
      case 'round-voided':
        this.#finals = this.#finals.filter(({ round }) => round !== record.round);
        this.#voidRounds++;
        return;
      case 'gain-decided':
        this.#finishedTrial(record.best);
        this.#gain = withVerdict(record, baselineIn([...this.#trials.values()]));
        return;
      case 'tracing-started':
        this.#tracing = { started: record, ended: null };
        return;
      case 'tracing-ended':
        if (!this.#tracing) contradiction('tracing-ended before tracing-started');
        else this.#tracing = { started: this.#tracing.started, ended: record };
        return;
      case 'model-restored':
        this.#restored = record;
        return;
      case 'study-finished':
        this.#finished = record;
    }
  }

  #timeMeasurement(
    { measurement, ...record }: TrialMeasured | FinalMeasured | OriginalMeasured,
    { candidate, server, role }: Pick<TrialStarted, 'candidate' | 'server'> & Partial<Pick<TrialStarted, 'role'>>,
  ): void {
    this.#measurements++;
    const atSeconds = this.#time.msAt(record) / MS_PER_S;
    const isFinal = record.type === 'final-measured';
    if (this.#timed.at(-1)?.measurement !== measurement)
      this.#timed.push({
        candidate,
        measurement,
        atSeconds,
        isFinal,
        ...(server !== undefined && { server, isBaseline: role === 'baseline' }),
      });
  }

  /**
   * The final may begin with a measurement of the search; read from a journal it is a different
   * object with the same content.
   */
  #asKnown(record: FinalMeasured): FinalMeasured {
    const last = this.#timed.at(-1)?.measurement;
    if (!last || last === record.measurement || this.#finals.length > 0) return record;
    return JSON.stringify(last) === JSON.stringify(record.measurement) ? { ...record, measurement: last } : record;
  }

  /** The baseline alone may be visited again, for other levels. */
  #opened(start: TrialStarted): OpenTrial {
    const earlier = this.#trials.get(start.trial);
    if (!earlier) return { start, earlier: [], measurements: [] };
    if (earlier.role !== 'baseline') contradiction(`trial ${start.trial} started again`);
    const { measurements, applied } = earlier;
    return { start, earlier: measurements, measurements: [], ...(applied && { applied }) };
  }

  /** An unfinished visit leaves the baseline as it was. */
  #forgetVisits(): void {
    for (const number of this.#open.keys()) if (this.#trials.has(number)) this.#open.delete(number);
  }

  /** A wish that had just started when it was withdrawn no longer waits. */
  #withdraw({ assignment, levels }: Wish): void {
    const wish = canonicalJson({ assignment, levels });
    const at = this.#requested.findLastIndex((waiting) => canonicalJson({ ...waiting }) === wish);
    if (at >= 0) this.#requested.splice(at, 1);
  }

  /**
   * Folds a load for a running trial, or for a finished one in the final. From here on the model is
   * changed.
   */
  #applied({ trial, change, loadMs, buildMs, accuracy }: TrialApplied): void {
    const open = this.#open.get(trial);
    if (open) {
      const ownChange = { change, loadMs, ...(buildMs !== undefined && { buildMs }), ...(accuracy && { accuracy }) };
      // When a candidate is applied again, its build and its comparison are not repeated.
      open.applied = { ...open.applied, ...ownChange };
    } else this.#finishedTrial(trial);
    if (change === 'full') this.#reloads++;
    this.#loadMs += loadMs;
    if (change !== 'none') this.#restored = null;
  }

  #finish({ trial, chosen, feasible, failure }: TrialFinished): void {
    const { start, earlier, measurements: ownMeasurements, applied } = this.#openTrial(trial);
    const measurements = [...earlier, ...ownMeasurements];
    if (chosen !== null && chosen >= measurements.length) contradiction(`trial ${trial} chose what it did not measure`);
    const { role, candidate } = start;
    this.#trials.set(trial, {
      number: trial,
      role,
      candidate,
      ...(applied && { applied }),
      measurements,
      chosen,
      feasible,
      failure,
    });
    this.#open.delete(trial);
  }

  get #original(): Candidate {
    return (this.#started ?? contradiction('it has no study-started')).original;
  }

  #openTrial(number: number): OpenTrial {
    return this.#open.get(number) ?? contradiction(`trial ${number} was not started`);
  }

  #finishedTrial(number: number): Trial {
    return this.#trials.get(number) ?? contradiction(`trial ${number} is not finished`);
  }
}

/** Records after which all trials stand as before. */
const changesNoStanding: ReadonlySet<StudyRecord['type']> = new Set([
  ...(['server-joined', 'server-left', 'trial-started', 'trial-applied', 'study-paused', 'study-continued'] as const),
  ...(['trial-requested', 'trial-withdrawn', 'space-narrowed'] as const),
]);

const baselineIn = (trials: readonly Trial[]): Trial | null => trials.find(({ role }) => role === 'baseline') ?? null;

function toUnfinished({ start, measurements }: OpenTrial): UnfinishedTrial {
  const { trial: number, role, candidate, levels = { kind: 'search' }, server, attempt } = start;
  const where = { ...(server !== undefined && { server }), ...(attempt !== undefined && { attempt }) };
  return { number, role, candidate, levels, measurements: [...measurements], ...where };
}

function contradiction(fault: string): never {
  throw new TrituneError(
    'JOURNAL_INVALID',
    `the journal is inconsistent: ${fault}`,
    'start a new study in another --output directory',
  );
}
