import type { Machine } from '#profiler/machine.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { ServerRefusal } from '../study/fleet-servers.ts';
import type { ServerRestored, Work, WorkOutcome } from '../study/work.ts';
import { onServer } from './activity-calls.ts';
import { formatMessage, isPermanent, neverBegan } from './faults.ts';
import type { ServerActivities, StudyInput } from './seams.ts';

const RESTORE_HOURS = 24;
/** The delay in seconds before a server that refused is asked again: it doubles up to the last. */
const ASK_AGAIN_SECONDS = { first: 5, last: 120 } as const;

/**
 * The servers of a study, as its workflow knows them: asked, reserved, free, and those that
 * refused.
 */
export class StudyServers {
  readonly #input: StudyInput;
  readonly #onNews: () => void;
  readonly #idle = new Set<string>();
  readonly #held: Set<string>;
  /** Servers that were asked and have not answered. */
  readonly #joining = new Set<string>();
  /** Servers that were asked to take the study, and those that took it. */
  readonly #known = new Set<string>();
  readonly #machines = new Map<string, Machine>();
  /** Servers that refused the study: why, how often, and when they are asked again. */
  readonly #refusals = new Map<string, ServerRefusal & { readonly times: number; readonly againMs: number }>();

  /** `onNews`: called when a server takes the study, or refuses it for a new reason. */
  constructor(input: StudyInput, onNews: () => void) {
    this.#input = input;
    this.#onNews = onNews;
    this.#held = new Set(input.held);
  }

  /** Servers that can take work now, by name. */
  get idle(): readonly string[] {
    return [...this.#idle].sort();
  }

  /** Servers that must be restored, by name. */
  get held(): readonly string[] {
    return [...this.#held].sort();
  }

  /** Servers that are asked to take the study, by name. */
  get joining(): readonly string[] {
    return [...this.#joining].sort();
  }

  /**
   * Returns what the servers that took the study since the last call are measured on, by name. Once
   * for each: every report stays in the history.
   */
  takeMachines(): Readonly<Record<string, Machine>> {
    const machines = Object.fromEntries(this.#machines);
    this.#machines.clear();
    return machines;
  }

  get refusals(): readonly ServerRefusal[] {
    return [...this.#refusals.values()].map(({ server, reason, isFinal }) => ({ server, reason, isFinal }));
  }

  /**
   * Asks those servers to take the study that are due. True if one of them never refused before.
   */
  greet(servers: readonly string[], started: StudyStarted): boolean {
    const keptServers = servers.filter((server) => this.#greetOne(server, started));
    return keptServers.some((server) => !this.#refusals.has(server));
  }

  #greetOne(server: string, started: StudyStarted): boolean {
    const refusal = this.#refusals.get(server);
    if (this.#known.has(server) || (refusal && Date.now() < refusal.againMs)) return false;
    this.#known.add(server);
    // Before asking, because a hold whose answer is lost has begun all the same.
    this.#held.add(server);
    this.#joining.add(server);
    this.#on(server)
      .hold(this.#input.study, started)
      .then(
        (taken) => {
          this.#joining.delete(server);
          this.#refusals.delete(server);
          if (taken) this.#machines.set(server, taken.machine);
          this.#idle.add(server);
          this.#onNews();
        },
        (error: unknown) => {
          const isRefused = isPermanent(error);
          this.#joining.delete(server);
          this.#refuse(server, formatMessage(error), isRefused);
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
    const { first, last } = ASK_AGAIN_SECONDS;
    const againMs = Date.now() + 1000 * Math.min(last, first * 2 ** (times - 1));
    this.#refusals.set(server, { server, reason, isFinal, times, againMs });
    if (before?.reason !== reason) this.#onNews();
  }

  /** Has the work done. Returns its outcome, whatever happens to the server. */
  async do(work: Work): Promise<WorkOutcome> {
    this.#idle.delete(work.server);
    try {
      return await this.#on(work.server).work(this.#input.study, work);
    } catch (error) {
      return { kind: isPermanent(error) ? 'unfit' : 'lost', work, reason: formatMessage(error) };
    }
  }

  /**
   * Takes the server of a finished piece of work back. One that was lost is asked again when its
   * worker is seen again.
   */
  release({ kind, work: { server } }: WorkOutcome): void {
    if (kind === 'done') this.#idle.add(server);
    else this.#known.delete(server);
  }

  /** Restores every server that may have been changed. */
  restore(): Promise<readonly ServerRestored[]> {
    return Promise.all(this.held.map((server) => this.#restoreOne(server)));
  }

  async #restoreOne(server: string): Promise<ServerRestored> {
    try {
      return await this.#on(server).restore(this.#input.study);
    } catch (error) {
      return { server, how: 'failed', verified: false, detail: formatMessage(error) };
    }
  }

  #on(server: string): ServerActivities {
    return onServer(this.#input, server, { restoreHours: this.#input.restoreHours ?? RESTORE_HOURS });
  }
}
