import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { StudyStarted } from '../../study/records/records.ts';
import type { StudyChange } from '../../tuner/steering.ts';
import type { Directive, StudyEnd } from '../study/conductor.ts';
import type { Refusal } from '../study/fleet-servers.ts';
import type { Steered } from '../study/pause.ts';
import type { ServerRestored, Work, WorkOutcome } from '../study/work.ts';
import { groupQueue, keeperQueue, PROGRESS, STEER, serverQueue } from './names.ts';
import { PERMANENT } from './permanent.ts';
import type {
  Command,
  FleetProgress,
  GroupActivities,
  KeeperActivities,
  RecordsPart,
  ServerActivities,
  StudyOrder,
} from './seams.ts';

/** The input of a study's workflow, and of its continuation after its history has become long. */
export interface StudyInput extends StudyOrder {
  readonly keeper?: string;
  readonly held?: readonly string[];
  readonly steered?: Steered;
  /** The number of events and bytes of a history after which the workflow starts anew. */
  readonly historyLimit?: { readonly events: number; readonly bytes: number };
  /** Hours that the machine of a server that must be restored may be away. */
  readonly restoreHours?: number;
}

/** Temporal ends a workflow at 51,200 events or 50 MiB. Draining takes one event per trial under way. */
const HISTORY_LIMIT = { events: 20_000, bytes: 16 * 2 ** 20 };
/** The interval of the search for new or returning servers while nothing else happens: short at first, then growing. */
const LOOK_AROUND_SECONDS = { first: 5, times: 1.5, last: 120 } as const;
const RESTORE_HOURS = 24;

export const steer = defineSignal<[Command]>(STEER);
export const progress = defineQuery<FleetProgress>(PROGRESS);

const steadily = { initialInterval: '1 second', maximumInterval: '30 seconds', backoffCoefficient: 2 } as const;

/** Runs a study over the servers of a group, from its baseline to the last restored model. */
export async function trituneStudy(input: StudyInput): Promise<StudyEnd> {
  const run = new StudyRun(input);
  setHandler(steer, (command) => run.obey(command));
  setHandler(progress, () => run.progress);
  return run.run();
}

/** Reads a part of a study's journal on the worker that keeps it, so that followers add nothing to the study's own history. */
export async function trituneReadRecords(
  group: string,
  keeper: string,
  name: string,
  from: number,
): Promise<RecordsPart> {
  const activities = proxyActivities<KeeperActivities>({
    taskQueue: keeperQueue(group, keeper),
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '5 minutes',
    retry: steadily,
  });
  return activities.readRecords(name, from);
}

class StudyRun {
  readonly #input: StudyInput;
  /** Commands that are not recorded yet. */
  #commands: StudyChange[] = [];
  #steered: Steered;
  #keeper: string | null;
  readonly #running = new Map<string, Work>();
  readonly #idle = new Set<string>();
  readonly #held: Set<string>;
  /** Servers that were asked to take the study, and those that took it. */
  readonly #known = new Set<string>();
  /** Servers that refused the study: why, how often, and when they are asked again. */
  readonly #refusals = new Map<string, Refusal & { readonly times: number; readonly againMs: number }>();
  #outcomes: WorkOutcome[] = [];
  #hasNews = false;
  #phase: FleetProgress['phase'] = 'opening';

  constructor(input: StudyInput) {
    this.#input = input;
    this.#keeper = input.keeper ?? null;
    this.#held = new Set(input.held);
    this.#steered = input.steered ?? { isPaused: false, stopsSearch: false };
  }

  /** Takes a person's command. The pause is kept here, where it survives the death of a worker. */
  obey(command: Command): void {
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
    const [running, idle, held] = [[...this.#running.values()], [...this.#idle], [...this.#held]];
    return { keeper: this.#keeper, running, idle, held, phase: this.#phase };
  }

  async run(): Promise<StudyEnd> {
    let end: StudyEnd = { stopReason: 'interrupted', failure: null };
    let fault: unknown = null;
    const scope = new CancellationScope();
    try {
      end = await scope.run(async () => this.#tune(this.#keeping(await this.#claim())));
    } catch (error) {
      // Nothing has begun, or another run continues it.
      if (this.#keeper === null || error instanceof ContinueAsNew) throw error;
      fault = error;
      if (!isCancellation(error)) end = { stopReason: messageOf(error), failure: failureOf(error) };
    }
    scope.cancel();
    return CancellationScope.nonCancellable(() => this.#close(end, isCancellation(fault)));
  }

  /** Restores all changed servers and records that, whatever has happened. */
  async #close(end: StudyEnd, interrupted: boolean): Promise<StudyEnd> {
    this.#phase = 'restoring';
    await condition(() => this.#running.size === 0, '5 minutes');
    const restored = await Promise.all([...this.#held].sort().map((server) => this.#restore(server)));
    await this.#keeping(this.#keeper as string).concludeStudy(this.#input.study, { end, restored, interrupted });
    this.#phase = 'over';
    if (end.failure) {
      const { code, message, hint } = end.failure;
      throw ApplicationFailure.nonRetryable(message, code, hint);
    }
    return end;
  }

  /** Returns the worker that keeps the journal. */
  async #claim(): Promise<string> {
    const anyone = proxyActivities<GroupActivities>({
      taskQueue: groupQueue(this.#input.group),
      startToCloseTimeout: '1 minute',
      retry: steadily,
    });
    this.#keeper ??= await anyone.claim();
    return this.#keeper;
  }

  #keeping(keeper: string): KeeperActivities {
    return proxyActivities<KeeperActivities>({
      taskQueue: keeperQueue(this.#input.group, keeper),
      startToCloseTimeout: '30 minutes',
      heartbeatTimeout: '60 seconds',
      // The machine with the journal may be away for this long.
      scheduleToCloseTimeout: '24 hours',
      retry: { ...steadily, nonRetryableErrorTypes: [...PERMANENT] },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    });
  }

  async #tune(keeper: KeeperActivities): Promise<StudyEnd> {
    const { study: name, group, spec, commandLine } = this.#input;
    const { historyLimit = HISTORY_LIMIT } = this.#input;
    let lookSeconds: number = LOOK_AROUND_SECONDS.first;
    const started = await keeper.openStudy({ study: name, group, spec, commandLine });
    this.#phase = 'tuning';
    for (;;) {
      const isLong =
        workflowInfo().historyLength > historyLimit.events || workflowInfo().historySize > historyLimit.bytes;
      const outcomes = this.#outcomes;
      this.#outcomes = [];
      this.#hasNews = false;
      const commands = this.#commands;
      this.#commands = [];
      const idle = isLong ? [] : [...this.#idle].sort();
      // Leaves out candidates: reports of many servers would fill the history.
      const running = [...this.#running.values()].map(({ kind, server, trial }) => ({ kind, server, trial }));
      const refusals = [...this.#refusals.values()].map(({ server, reason, isFinal }) => ({ server, reason, isFinal }));
      const busy = new Set([...idle, ...running.map(({ server }) => server)]);
      const away = [...this.#held].filter((server) => !busy.has(server)).length;
      const steered = this.#steered;
      const directive = await keeper.advance(name, { outcomes, running, idle, commands, steered, refusals, away });
      if (directive.end) return directive.end;
      this.#handOut(directive);
      const asked = directive.servers.filter((server) => this.#greet(server, started));
      const hasNew = asked.some((server) => !this.#refusals.has(server));
      const { first, times, last } = LOOK_AROUND_SECONDS;
      lookSeconds = hasNew ? first : Math.min(last, times * lookSeconds);
      const isDrained = this.#running.size + this.#outcomes.length + this.#commands.length === 0;
      if (isLong && isDrained) await this.#beginAnew();
      await condition(() => this.#outcomes.length > 0 || this.#hasNews, `${Math.round(lookSeconds)} seconds`);
    }
  }

  /** Only while nothing is under way: a history that ends would lose its activities. */
  #beginAnew(): Promise<never> {
    const keeper = this.#keeper === null ? {} : { keeper: this.#keeper };
    const held = [...this.#held].sort();
    return continueAsNew<typeof trituneStudy>({ ...this.#input, ...keeper, held, steered: this.#steered });
  }

  #handOut({ work }: Directive): void {
    for (const each of work) {
      this.#idle.delete(each.server);
      this.#running.set(each.id, each);
      this.#do(each).then((outcome) => {
        this.#running.delete(each.id);
        this.#outcomes.push(outcome);
        if (outcome.kind === 'done') this.#idle.add(each.server);
        // Asks the server again whether it takes the study when its worker is seen again.
        else this.#known.delete(each.server);
      }, ignored);
    }
  }

  async #do(work: Work): Promise<WorkOutcome> {
    try {
      return await this.#serverActivities(work.server, {
        scheduleToStartTimeout: '90 seconds',
        startToCloseTimeout: '6 hours',
        heartbeatTimeout: '60 seconds',
        // Another server may try the work: the conductor counts attempts.
        retry: { maximumAttempts: 1 },
        cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      }).work(this.#input.study, work);
    } catch (error) {
      const isOfServer = causeOf(error)?.type !== undefined && PERMANENT.has(causeOf(error)?.type as string);
      return { kind: isOfServer ? 'unfit' : 'lost', work, reason: messageOf(error) };
    }
  }

  /** Asks a server to take the study; false if it was asked before and its next attempt is not due. */
  #greet(server: string, started: StudyStarted): boolean {
    const refusal = this.#refusals.get(server);
    if (this.#known.has(server) || (refusal && Date.now() < refusal.againMs)) return false;
    this.#known.add(server);
    // Before asking, because a hold whose answer is lost has begun all the same.
    this.#held.add(server);
    this.#serverActivities(server, {
      scheduleToStartTimeout: '90 seconds',
      startToCloseTimeout: '10 minutes',
      heartbeatTimeout: '60 seconds',
      retry: { ...steadily, maximumAttempts: 3, nonRetryableErrorTypes: [...PERMANENT] },
    })
      .hold(this.#input.study, started)
      .then(
        () => {
          this.#refusals.delete(server);
          this.#idle.add(server);
          this.#hasNews = true;
        },
        (error: unknown) => {
          const isRefused = PERMANENT.has(causeOf(error)?.type ?? '');
          this.#refuse(server, messageOf(error), isRefused);
          // A hold that was refused or never began has changed nothing.
          if (isRefused || neverBegan(error)) this.#held.delete(server);
          if (!isRefused) this.#known.delete(server);
        },
      );
    return true;
  }

  #refuse(server: string, reason: string, isFinal: boolean): void {
    const before = this.#refusals.get(server);
    const times = (before?.times ?? 0) + 1;
    const { first, last } = LOOK_AROUND_SECONDS;
    const againMs = Date.now() + 1000 * Math.min(last, first * 2 ** (times - 1));
    this.#refusals.set(server, { server, reason, isFinal, times, againMs });
    if (before?.reason !== reason) this.#hasNews = true;
  }

  async #restore(server: string): Promise<ServerRestored> {
    try {
      return await this.#serverActivities(server, {
        startToCloseTimeout: '30 minutes',
        heartbeatTimeout: '60 seconds',
        // The machine with the server may be away for this long.
        scheduleToCloseTimeout: `${this.#input.restoreHours ?? RESTORE_HOURS} hours`,
        retry: steadily,
      }).restore(this.#input.study);
    } catch (error) {
      return { server, how: 'failed', verified: false, detail: messageOf(error) };
    }
  }

  #serverActivities(server: string, options: Parameters<typeof proxyActivities>[0]): ServerActivities {
    return proxyActivities<ServerActivities>({ taskQueue: serverQueue(this.#input.group, server), ...options });
  }
}

const neverBegan = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

const ignored = (): void => undefined;

function causeOf(error: unknown): ApplicationFailure | null {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? cause : null;
}

function messageOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure)
    return cause.timeoutType === 'SCHEDULE_TO_START'
      ? 'its worker does not answer'
      : 'its worker says nothing any more';
  return cause instanceof Error ? cause.message : String(cause);
}

function failureOf(error: unknown): StudyEnd['failure'] {
  const cause = causeOf(error);
  const [hint] = (cause?.details ?? []) as readonly unknown[];
  return {
    code: cause?.type ?? 'SERVER_FAILED',
    message: messageOf(error),
    hint: typeof hint === 'string' ? hint : 'look at the workers of the group, and at the history of the workflow',
  };
}
