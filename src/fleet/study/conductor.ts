import { asTrituneError, isTrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import type { StudyState } from '#study/records/state.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';
import { certifyBest } from '#tuner/certify.ts';
import { currentSampler } from '#tuner/current-sampler.ts';
import { failedInFinal } from '#tuner/final.ts';
import { BASELINE, type Planning, type TuneParts, type TunePlan } from '#tuner/run.ts';
import { STOPPED, tellLimits } from '#tuner/search.ts';
import { Steering } from '#tuner/steering.ts';
import { StudyRecorder } from '#tuner/study-recorder.ts';
import { TimeKeeper } from '#tuner/time-keeper.ts';
import { recordCommand } from '#tuner/user-commands.ts';
import { FinalWork } from './final-work.ts';
import { FleetServers } from './fleet-servers.ts';
import { HandedOut } from './handed-out.ts';
import { OutcomeRecords } from './outcome-records.ts';
import { StudyPause } from './pause.ts';
import type { Directive, StudyEnd, WorkReport } from './report.ts';
import { SearchWork } from './search-work.ts';
import { StandIn } from './stand-in.ts';
import type { ServerRestored, Work, WorkOutcome, WorkUnderWay } from './work.ts';

/** The parts of a conductor: those of a study, with a search space instead of a server. */
export interface ConductorParts
  extends Pick<TuneParts, 'sampler' | 'samplerFor' | 'journal' | 'clock' | 'estimateSpeeds'> {
  readonly build: ServerAdapter['build'];
}

/** A trial that loses its server this often counts as the cause. */
const MAX_ATTEMPTS = 3;

/**
 * Conducts one study over several servers: records what they did and decides what each does next.
 * Touches no server. Its whole state comes from the journal and the reports, so a new conductor
 * over the same journal continues where another ended.
 */
export class Conductor {
  readonly #run: Planning;
  readonly #handedOut: HandedOut;
  readonly #records: OutcomeRecords;
  readonly #standIn: StandIn;
  readonly #servers: FleetServers;
  readonly #pause: StudyPause;
  readonly #search: SearchWork;
  readonly #final: FinalWork;

  constructor(plan: TunePlan, parts: ConductorParts) {
    const { build, clock } = parts;
    const recorder = new StudyRecorder(parts.journal, clock, null, plan.earlier, parts.estimateSpeeds);
    const spentMs = plan.earlier.length > 0 ? recorder.state.elapsedSeconds * MS_PER_S : 0;
    const time = new TimeKeeper(clock, plan, { finalRounds: plan.finalRounds, traced: false }, spentMs);
    const sampler = currentSampler(parts, plan.study.goal);
    const run = { plan, recorder, time, steering: new Steering(), sampler: () => sampler(recorder.state) };
    this.#run = { ...run, parts: { adapter: { build } } };
    this.#handedOut = new HandedOut(recorder, plan.earlier);
    this.#records = new OutcomeRecords(recorder, time, plan);
    this.#standIn = new StandIn(plan.earlier);
    this.#servers = new FleetServers(recorder);
    this.#pause = new StudyPause(this.#run);
    this.#search = new SearchWork(this.#run, this.#handedOut, this.#standIn);
    this.#final = new FinalWork(this.#run, this.#handedOut, this.#records);
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

  /**
   * Records the outcomes, and hands out work. Repeating a report changes nothing. Errors: those of
   * the journal.
   */
  async advance(report: WorkReport): Promise<Directive> {
    const { outcomes, running, idle, machines = {}, commands = [], refusals = [], away = 0 } = report;
    try {
      for (const command of commands) await recordCommand(this.#run, command);
      for (const outcome of outcomes) await this.#take(outcome);
      for (const refusal of refusals) await this.#servers.refuse(refusal);
      if (report.steered) await this.#pause.steer(report.steered, running.length === 0);
      const fit = this.#servers.fit(idle);
      this.#servers.check(fit.length + running.length + away);
      await this.#servers.join(fit, machines);
      return await this.#handOut(running, fit);
    } catch (error) {
      if (isTrituneError(error, 'OUTPUT_UNWRITABLE') || isTrituneError(error, 'INTERNAL')) throw error;
      const { code, message, hint } = asTrituneError(error);
      return { work: [], end: { stopReason: `${code}: ${message}`, failure: { code, message, hint } } };
    }
  }

  /**
   * Records how the servers were left, and that the study is over. Errors: those of the journal.
   */
  async conclude(end: StudyEnd, restored: readonly ServerRestored[], interrupted: boolean): Promise<void> {
    const { recorder, time } = this.#run;
    if (recorder.state.finished) return;
    const verified = restored.every((each) => each.verified);
    const how = restored.find((each) => !each.verified)?.how ?? restored[0]?.how ?? 'nothing-changed';
    const detail = restored.map((each) => `${each.server}: ${each.detail}`).join('; ') || 'no server was changed';
    await recorder.conclude({ type: 'model-restored', how, verified, detail, servers: restored });
    const certificate = end.failure || interrupted ? null : certifyBest(this.#run);
    await recorder.conclude({
      type: 'study-finished',
      stopReason: end.stopReason,
      ...(end.notes && { notes: end.notes }),
      ...(certificate && { certificate }),
      interrupted,
      wallSeconds: time.elapsedMs / MS_PER_S,
    });
  }

  async #take(outcome: WorkOutcome): Promise<void> {
    const { work } = outcome;
    if (outcome.kind !== 'done') return this.#takeLoss(outcome);
    const { failure, measurements } = outcome;
    if (failure?.kind === 'server-lost') return this.#takeLoss({ kind: 'lost', work, reason: failure.reason });
    if (work.kind !== 'trial' && failure && measurements.length === 0) {
      if (work.kind === 'original') return this.#takeLoss({ kind: 'unfit', work, reason: failure.reason });
      await this.#final.cutShort(failedInFinal(work.trial, failure.reason));
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
    if (work.kind !== 'trial' || trial === BASELINE || !isOpen || attempt < MAX_ATTEMPTS) return;
    const failure = { kind: 'server-lost', reason: `lost its server ${MAX_ATTEMPTS} times: ${reason}` } as const;
    await recorder.record({ type: 'trial-finished', trial, chosen: null, feasible: false, failure });
  }

  async #handOut(running: readonly WorkUnderWay[], idle: readonly string[]): Promise<Directive> {
    const work: Work[] = [];
    for (const server of inOrder(idle, this.#reference)) {
      const next = await this.#nextFor(server, [...running, ...work]);
      if (next === 'over') this.#final.end();
      else if (next !== null) work.push(next);
      if (this.#final.isOver) break;
    }
    const isEnd = this.#final.isOver && work.length === 0 && running.length === 0;
    return { work, end: isEnd ? { ...this.#final.stopped, failure: null } : null };
  }

  /** The server that others are compared with: the one that measured the baseline. */
  get #reference(): string | undefined {
    return this.state.speeds.servers?.[0]?.server;
  }

  /** Returns a server's next work; null for none now; 'over' if no server has any left. */
  async #nextFor(server: string, running: readonly WorkUnderWay[]): Promise<Work | 'over' | null> {
    const { state } = this;
    const { steering } = this.#run;
    if (state.gain && running.length === 0) return 'over';
    if (this.#final.isOver) return null;
    if (steering.isPaused && !steering.stopsSearch) return null;
    if (!state.baseline) return this.#search.begin(server, running);
    if (state.finals.length > 0) return running.length > 0 ? null : this.#final.next(server);
    const open = state.open.find(({ number }) => number !== BASELINE && !running.some(({ trial }) => trial === number));
    if (open && !steering.stopsSearch) return this.#handedOut.trial(server, open);
    const searched = steering.stopsSearch ? { reason: STOPPED, notes: [] } : await this.#search.next(server, running);
    if (searched === null || !('reason' in searched)) return searched;
    return running.length > 0 ? null : this.#final.afterSearch(searched, server);
  }
}

const inOrder = (servers: readonly string[], first: string | undefined): readonly string[] =>
  first !== undefined && servers.includes(first) ? [first, ...servers.filter((each) => each !== first)] : servers;
