import { CancellationScope, ContinueAsNew, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { StudyChange } from '#tuner/steering.ts';
import type { Steered } from '../study/pause.ts';
import type { Directive, StudyEnd, WorkReport } from '../study/report.ts';
import type { Work, WorkOutcome } from '../study/work.ts';
import { onAnyWorker, onKeeper } from './activity-calls.ts';
import { asError, formatMessage, toFailure } from './faults.ts';
import type { FleetProgress, KeeperActivities, StudyInput, WorkflowCommand } from './seams.ts';
import { StudyServers } from './study-servers.ts';

/**
 * Temporal ends a workflow at 51,200 events or 50 MiB. Draining takes one event per trial under
 * way.
 */
const HISTORY_LIMIT = { events: 20_000, bytes: 16 * 2 ** 20 };
/**
 * The interval of the search for new or returning servers while nothing else happens: short at
 * first, then growing.
 */
const LOOK_AROUND_SECONDS = { first: 5, times: 1.5, last: 120 } as const;

/**
 * One run of a study's workflow: from its baseline, or from where an earlier history ended, to the
 * last restored model.
 */
export class StudyRun {
  readonly #input: StudyInput;
  /** Begins the study anew with this input and an empty history; never returns. */
  readonly #beginAnew: (input: StudyInput) => Promise<never>;
  readonly #servers: StudyServers;
  /** Commands that are not recorded yet. */
  #commands: StudyChange[] = [];
  #steered: Steered;
  #keeper: string | null;
  readonly #running = new Map<string, Work>();
  #outcomes: WorkOutcome[] = [];
  #hasNews = false;
  #phase: FleetProgress['phase'] = 'opening';

  constructor(input: StudyInput, beginAnew: (input: StudyInput) => Promise<never>) {
    this.#input = input;
    this.#beginAnew = beginAnew;
    this.#keeper = input.keeper ?? null;
    this.#steered = input.steered ?? { isPaused: false, stopsSearch: false };
    this.#servers = new StudyServers(input, () => {
      this.#hasNews = true;
    });
  }

  /** Takes a person's command. The pause is kept here, where it survives the death of a worker. */
  obey(command: WorkflowCommand): void {
    this.#hasNews = true;
    switch (command.kind) {
      case 'pause':
        this.#steered = { ...this.#steered, isPaused: true };
        return;
      case 'resume':
        this.#steered = { ...this.#steered, isPaused: false };
        return;
      case 'stop-search':
        this.#steered = { isPaused: false, stopsSearch: true };
        return;
      default:
        this.#commands.push(command);
    }
  }

  get progress(): FleetProgress {
    const { idle, held, joining } = this.#servers;
    return { keeper: this.#keeper, running: [...this.#running.values()], idle, held, joining, phase: this.#phase };
  }

  async run(): Promise<StudyEnd> {
    let end: StudyEnd = { stopReason: 'interrupted', failure: null };
    let fault: unknown = null;
    const scope = new CancellationScope();
    try {
      end = await scope.run(async () => {
        this.#keeper ??= await onAnyWorker(this.#input).claim();
        return this.#tune(onKeeper(this.#input, this.#keeper));
      });
    } catch (error) {
      // Nothing has begun, or another run continues it.
      if (this.#keeper === null || error instanceof ContinueAsNew) throw error;
      fault = error;
      if (!isCancellation(error)) end = { stopReason: formatMessage(error), failure: toFailure(error) };
    }
    scope.cancel();
    return CancellationScope.nonCancellable(() => this.#close(end, isCancellation(fault)));
  }

  /** Restores all changed servers and records that, whatever has happened. */
  async #close(end: StudyEnd, interrupted: boolean): Promise<StudyEnd> {
    this.#phase = 'restoring';
    await condition(() => this.#running.size === 0, '5 minutes');
    const restored = await this.#servers.restore();
    const keeper = onKeeper(this.#input, this.#keeper as string);
    await keeper.concludeStudy(this.#input.study, { end, restored, interrupted });
    this.#phase = 'over';
    if (end.failure) throw asError(end.failure);
    return end;
  }

  async #tune(keeper: KeeperActivities): Promise<StudyEnd> {
    const { study: name, group, spec, commandLine } = this.#input;
    let lookSeconds: number = LOOK_AROUND_SECONDS.first;
    const started = await keeper.openStudy({ study: name, group, spec, commandLine });
    this.#phase = 'tuning';
    for (;;) {
      const isLong = this.#isLong;
      const directive = await keeper.advance(name, this.#report({ isLong }));
      if (directive.end) return directive.end;
      this.#handOut(directive);
      const hasNew = this.#servers.greet(directive.servers, started);
      const { first, times, last } = LOOK_AROUND_SECONDS;
      lookSeconds = hasNew ? first : Math.min(last, times * lookSeconds);
      const isDrained = this.#running.size + this.#outcomes.length + this.#commands.length === 0;
      if (isLong && isDrained) await this.#beginAnew(this.#continued);
      await condition(() => this.#outcomes.length > 0 || this.#hasNews, `${Math.round(lookSeconds)} seconds`);
    }
  }

  /** True if the study must begin a new history once no work is under way. */
  get #isLong(): boolean {
    const { events, bytes } = this.#input.historyLimit ?? HISTORY_LIMIT;
    return workflowInfo().historyLength > events || workflowInfo().historySize > bytes;
  }

  /**
   * The input of the run that continues this one. Only while nothing is under way: a history that
   * ends would lose its activities.
   */
  get #continued(): StudyInput {
    const keeper = this.#keeper === null ? {} : { keeper: this.#keeper };
    return { ...this.#input, ...keeper, held: this.#servers.held, steered: this.#steered };
  }

  /**
   * Returns what has happened since the last report, which is then empty. A long history gets no
   * more work.
   */
  #report({ isLong }: { readonly isLong: boolean }): WorkReport {
    const [outcomes, commands] = [this.#outcomes, this.#commands];
    this.#outcomes = [];
    this.#commands = [];
    this.#hasNews = false;
    const idle = isLong ? [] : this.#servers.idle;
    // Leaves out candidates: reports of many servers would fill the history.
    const running = [...this.#running.values()].map(({ kind, server, trial }) => ({ kind, server, trial }));
    const busy = new Set([...idle, ...running.map(({ server }) => server)]);
    const away = this.#servers.held.filter((server) => !busy.has(server)).length;
    const machines = this.#servers.takeMachines();
    const { refusals } = this.#servers;
    return { outcomes, running, idle, machines, commands, steered: this.#steered, refusals, away };
  }

  #handOut({ work }: Directive): void {
    for (const each of work) {
      this.#running.set(each.id, each);
      this.#servers.do(each).then((outcome) => {
        this.#running.delete(each.id);
        this.#outcomes.push(outcome);
        this.#servers.release(outcome);
      }, ignored);
    }
  }
}

const ignored = (): void => undefined;
