import { asTrituneError, isTrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { StudyState } from '../../study/records/state.ts';
import type { Trial } from '../../study/types.ts';
import type { ServerAdapter } from '../../tuner/adapter.ts';
import { nextTrial } from '../../tuner/ask.ts';
import { currentSampler } from '../../tuner/current-sampler.ts';
import { cutShort, failedInFinal, nextFinalStep, outOfTime } from '../../tuner/final.ts';
import { BASELINE, type Planning, type TuneParts, type TunePlan } from '../../tuner/run.ts';
import type { TunerEvent } from '../../tuner/seams.ts';
import { ALREADY_SEARCHED, checkServer, STOPPED, tellLimits } from '../../tuner/search.ts';
import { Steering, type StudyChange } from '../../tuner/steering.ts';
import { StudyRecorder } from '../../tuner/study-recorder.ts';
import { TimeKeeper } from '../../tuner/time-keeper.ts';
import { refuseTrial } from '../../tuner/trial.ts';
import { recordCommand } from '../../tuner/user-commands.ts';
import { openFinal, plannedVisit } from '../../tuner/visit-original.ts';
import { FleetServers, type Refusal } from './fleet-servers.ts';
import { HandedOut } from './handed-out.ts';
import { OutcomeRecords } from './outcome-records.ts';
import { Pause, type Steered } from './pause.ts';
import { asOneMeasurement, pendingOf, withHint } from './plan-levels.ts';
import { StandIn } from './stand-in.ts';
import type { ServerRestored, Work, WorkOutcome, WorkUnderWay } from './work.ts';

/** The parts of a conductor: those of a study, with a search space instead of a server. */
export interface ConductorParts
  extends Pick<TuneParts, 'sampler' | 'samplerFor' | 'journal' | 'clock' | 'estimateSpeeds'> {
  readonly build: ServerAdapter['build'];
}

/** What has happened since the last report. */
export interface Report {
  readonly outcomes: readonly WorkOutcome[];
  /** Work handed out earlier and still under way. */
  readonly running: readonly WorkUnderWay[];
  /** Servers that can take work now. */
  readonly idle: readonly string[];
  /** A person's commands since the last report. */
  readonly commands?: readonly StudyChange[];
  readonly steered?: Steered;
  /** Servers that were asked and did not take the study. */
  readonly refusals?: readonly Refusal[];
  /** The number of other servers that may still take work: those away, or just asked. */
  readonly away?: number;
}

/** What to do next. */
export interface Directive {
  readonly work: readonly Work[];
  /** How the study ended; null while it goes on. No work comes with it. */
  readonly end: StudyEnd | null;
}

export interface StudyEnd {
  readonly stopReason: string;
  /** As in the record `study-finished`. */
  readonly notes?: readonly string[];
  /** The error that ended the study; null if it ended normally. */
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

/** The number of trials on a server between two measurements of the original config there, which compare its speed with the others'. */
const TRIALS_BETWEEN_ORIGINALS = 24;
/** A trial that loses its server this often counts as the cause. */
const MOST_ATTEMPTS = 3;
/** The maximum number of visits to the original config after the search. */
const MOST_VISITS = 4;

/**
 * Conducts one study over several servers: records what they did and decides what each does next. Touches no server. Its whole state comes from the
 * journal and the reports, so a new conductor over the same journal continues where another ended.
 */
export class Conductor {
  readonly #run: Planning;
  readonly #handedOut: HandedOut;
  readonly #records: OutcomeRecords;
  readonly #standIn: StandIn;
  readonly #servers: FleetServers;
  readonly #pause: Pause;
  /** The number of finished trials at the last visit to the original config, and the visits since then. */
  #visited = { after: -1, times: 0 };
  #searchEnded: string | null = null;
  /** What else there is to say about the end. */
  #notes: readonly string[] = [];
  #isOver = false;

  constructor(plan: TunePlan, parts: ConductorParts, emit: (event: TunerEvent) => void) {
    const { build, clock } = parts;
    const recorder = new StudyRecorder(parts.journal, clock, emit, plan.earlier, parts.estimateSpeeds);
    const spentMs = plan.earlier.length > 0 ? recorder.state.elapsedSeconds * MS_PER_S : 0;
    const time = new TimeKeeper(clock, plan, { finalRounds: plan.finalRounds, traced: false }, spentMs);
    const sampler = currentSampler(parts, plan.study.goal);
    const own = { plan, recorder, time, steering: new Steering(), sampler: () => sampler(recorder.state) };
    this.#run = { ...own, parts: { adapter: { build } } };
    this.#handedOut = new HandedOut(plan.earlier);
    this.#records = new OutcomeRecords(recorder, time, plan);
    this.#standIn = new StandIn(plan.earlier);
    this.#servers = new FleetServers(recorder);
    this.#pause = new Pause(this.#run);
  }

  get state(): StudyState {
    return this.#run.recorder.state;
  }

  /** Records that the study begins or continues. Errors: those of the journal. */
  async open(): Promise<void> {
    const { plan, recorder } = this.#run;
    if (plan.earlier.length === 0) await recorder.record({ type: 'study-started', ...plan.study });
    else await recorder.record({ type: 'study-resumed', server: plan.study.server });
    tellLimits(this.#run);
  }

  /** Records the outcomes, and hands out work. Repeating a report changes nothing. Errors: those of the journal. */
  async advance(report: Report): Promise<Directive> {
    const { outcomes, running, idle, commands = [], refusals = [], away = 0 } = report;
    try {
      for (const command of commands) await recordCommand(this.#run, command);
      for (const outcome of outcomes) await this.#take(outcome);
      for (const refusal of refusals) await this.#servers.refuse(refusal);
      if (report.steered) await this.#pause.steer(report.steered, running.length === 0);
      const fit = this.#servers.fit(idle);
      this.#servers.check(fit.length + running.length + away);
      await this.#servers.join(fit);
      return await this.#handOut(running, fit);
    } catch (error) {
      if (isTrituneError(error, 'OUTPUT_UNWRITABLE') || isTrituneError(error, 'INTERNAL')) throw error;
      const { code, message, hint } = asTrituneError(error);
      return { work: [], end: { stopReason: `${code}: ${message}`, failure: { code, message, hint } } };
    }
  }

  /** Records how the servers were left, and that the study is over. Errors: those of the journal. */
  async conclude(end: StudyEnd, restored: readonly ServerRestored[], interrupted: boolean): Promise<void> {
    const { recorder, time } = this.#run;
    if (recorder.state.finished) return;
    const verified = restored.every((each) => each.verified);
    const how = restored.find((each) => !each.verified)?.how ?? restored[0]?.how ?? 'nothing-changed';
    const detail = restored.map((each) => `${each.server}: ${each.detail}`).join('; ') || 'no server was changed';
    await recorder.conclude({ type: 'model-restored', how, verified, detail, servers: restored });
    const { stopReason, notes } = end;
    const wallSeconds = time.elapsedMs / MS_PER_S;
    await recorder.conclude({ type: 'study-finished', stopReason, ...(notes && { notes }), interrupted, wallSeconds });
  }

  async #take(outcome: WorkOutcome): Promise<void> {
    const { work } = outcome;
    if (outcome.kind !== 'done') return this.#takeLoss(outcome);
    const { failure, measurements } = outcome;
    if (failure?.kind === 'server-lost') return this.#takeLoss({ kind: 'lost', work, reason: failure.reason });
    if (work.kind !== 'trial' && failure && measurements.length === 0) {
      if (work.kind === 'original') return this.#takeLoss({ kind: 'unfit', work, reason: failure.reason });
      this.#endWith(await cutShort(this.#run, failedInFinal(work.trial, failure.reason)));
    }
    this.#standIn.take(outcome);
    await this.#records.take(outcome);
  }

  async #takeLoss({ kind, work, reason }: Exclude<WorkOutcome, { readonly kind: 'done' }>): Promise<void> {
    const { recorder } = this.#run;
    const { server, trial, attempt } = work;
    if (kind === 'unfit') this.#servers.exclude(server, reason);
    await this.#servers.leave(server, reason);
    const isOpen = this.state.open.some((each) => each.number === trial && each.attempt === attempt);
    if (work.kind !== 'trial' || trial === BASELINE || !isOpen || attempt < MOST_ATTEMPTS) return;
    const failure = { kind: 'server-lost', reason: `lost its server ${MOST_ATTEMPTS} times: ${reason}` } as const;
    await recorder.record({ type: 'trial-finished', trial, chosen: null, feasible: false, failure });
  }

  #endWith(reason: string): void {
    if (this.#searchEnded === null) this.#searchEnded = reason;
    else this.#notes = [reason, ...this.#notes];
    this.#isOver = true;
  }

  async #handOut(running: readonly WorkUnderWay[], idle: readonly string[]): Promise<Directive> {
    const work: Work[] = [];
    for (const server of inOrder(idle, this.#reference)) {
      const next = await this.#nextFor(server, [...running, ...work]);
      if (next === 'over') this.#isOver = true;
      else if (next !== null) work.push(next);
      if (this.#isOver) break;
    }
    const isEnd = this.#isOver && work.length === 0 && running.length === 0;
    const stopReason = this.#searchEnded ?? 'the study was already finished';
    const notes = this.#notes.length > 0 && { notes: this.#notes };
    return { work, end: isEnd ? { stopReason, ...notes, failure: null } : null };
  }

  /** The server that others are compared with: the one that measured the baseline. */
  get #reference(): string | undefined {
    return this.state.speeds.servers?.[0]?.server;
  }

  /** Returns a server's next work; null for none now; 'over' if no server has any left. */
  async #nextFor(server: string, running: readonly WorkUnderWay[]): Promise<Work | 'over' | null> {
    const { state, steering } = { state: this.state, steering: this.#run.steering };
    if (state.gain && running.length === 0) return 'over';
    if (this.#isOver) return null;
    if (steering.isPaused && !steering.stopsSearch) return null;
    if (!state.baseline) return this.#begin(server, running);
    if (state.finals.length > 0) return this.#final(server, running);
    const open = state.open.find(({ number }) => number !== BASELINE && !running.some(({ trial }) => trial === number));
    if (open && !steering.stopsSearch) return this.#startTrial(server, open);
    const searched = steering.stopsSearch ? STOPPED : await this.#search(server, running);
    if (typeof searched !== 'string') return searched;
    if (running.length > 0) return null;
    this.#searchEnded = searched;
    if (searched === STOPPED) this.#notes = [];
    return this.#afterSearch(server);
  }

  /**
   * Measures the original config on every server at once, to compare their speeds. If a trial is one measurement, so is the original on the other
   * servers, which then try candidates while the baseline is measured at all its levels.
   */
  async #begin(server: string, running: readonly WorkUnderWay[]): Promise<Work | null> {
    const { state } = this;
    const sampler = this.#run.sampler();
    const candidate = state.started.original;
    const trial = { number: BASELINE, role: 'baseline', candidate, levels: { kind: 'search' } } as const;
    if (!running.some(({ kind, trial: number }) => kind === 'trial' && number === BASELINE))
      return this.#startTrial(server, trial);
    if (this.#originalsOn(server) === 0) {
      const levels = sampler.comesBack ? asOneMeasurement(trial, sampler, state) : trial.levels;
      return this.#handedOut.original(server, state, levels);
    }
    const told = sampler.comesBack ? this.#standIn.trialsIn(state) : null;
    if (told === null) return null;
    const next = await this.#propose(server, running, told);
    return typeof next === 'string' ? null : next;
  }

  #originalsOn(server: string): number {
    return this.state.servers.find(({ name }) => name === server)?.originals ?? 0;
  }

  /** Returns search work for this server, or the reason for having none. */
  async #search(server: string, running: readonly WorkUnderWay[]): Promise<Work | string | null> {
    const { state } = this;
    const level = state.baseline?.measurements.at(-1)?.level;
    const own = state.servers.find(({ name }) => name === server);
    const isDue = !own || own.originals === 0 || own.trialsSinceOriginal >= TRIALS_BETWEEN_ORIGINALS;
    if (isDue && level && state.servers.length > 1) {
      const { value, batch } = level;
      return this.#handedOut.original(server, state, {
        ...{ kind: 'fixed', values: [value] },
        ...(batch !== undefined && { batch }),
      });
    }
    return this.#propose(server, running);
  }

  /** Returns a trial that the sampler or a person asks for, or the reason for having none. `told`: as in `nextTrial`. */
  async #propose(
    server: string,
    running: readonly WorkUnderWay[],
    told?: readonly Trial[],
  ): Promise<Work | string | null> {
    for (;;) {
      checkServer(this.#run);
      const pending = pendingOf(running, this.state);
      const next = await nextTrial(this.#run, told ? { pending, told } : { pending });
      if (next.kind === 'stop') {
        if (running.length > 0) return null;
        this.#notes = next.notes;
        return next.reason;
      }
      if (next.refusal) {
        await refuseTrial(this.#run, next.trial, next.refusal);
        continue;
      }
      const sampler = this.#run.sampler();
      const levels = sampler.comesBack
        ? asOneMeasurement(next.trial, sampler, this.state)
        : withHint(next.trial.levels, sampler, this.state);
      return this.#startTrial(server, { ...next.trial, levels });
    }
  }

  /** Same as after the search on one server: the original config once more, then the final. */
  async #afterSearch(server: string): Promise<Work | 'over' | null> {
    const { trials } = this.state;
    const visit = plannedVisit(this.#run);
    const isAgain = this.#visited.after === trials.length;
    const mayVisit = isAgain ? visit?.levels.kind === 'search' && this.#visited.times < MOST_VISITS : visit !== null;
    if (visit && mayVisit) {
      this.#visited = { after: trials.length, times: isAgain ? this.#visited.times + 1 : 1 };
      const levels =
        visit.levels.kind === 'search' ? asOneMeasurement(visit, this.#run.sampler(), this.state) : visit.levels;
      return this.#startTrial(server, { ...visit, levels });
    }
    await openFinal(this.#run);
    return this.#final(server, []);
  }

  async #final(server: string, running: readonly WorkUnderWay[]): Promise<Work | 'over' | null> {
    if (running.length > 0) return null;
    this.#searchEnded ??= ALREADY_SEARCHED;
    for (;;) {
      const step = nextFinalStep(this.#run);
      if (step === null) return 'over';
      const { recorder, time } = this.#run;
      if (step.kind === 'decide') {
        await recorder.record({ type: 'gain-decided', ...step.decision });
        return 'over';
      }
      if (step.kind === 'void') {
        await recorder.record({ type: 'round-voided', round: step.round, slower: step.slower });
        continue;
      }
      if (step.opensRound && !time.allowsFinalRound(1 + step.rest.length)) {
        this.#endWith(await cutShort(this.#run, outOfTime(this.#run)));
        return 'over';
      }
      return this.#handedOut.final(server, step, this.#records.finals + 1);
    }
  }

  async #startTrial(server: string, trial: Parameters<HandedOut['trial']>[1]): Promise<Work> {
    const work = this.#handedOut.trial(server, trial);
    const { number, role, candidate, levels, requested, bottleneck } = trial;
    await this.#run.recorder.record({
      ...{ type: 'trial-started', trial: number, role, candidate, levels, server, attempt: work.attempt },
      ...(requested && { requested }),
      ...(bottleneck && { bottleneck }),
    });
    return work;
  }
}

const inOrder = (servers: readonly string[], first: string | undefined): readonly string[] =>
  first !== undefined && servers.includes(first) ? [first, ...servers.filter((each) => each !== first)] : servers;
