import { TrituneError } from '#base/errors.ts';
import type { Machine } from '#profiler/machine.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import type { ServerRestored } from '../study/work.ts';
import type { WorkRunner } from '../work-runner.ts';
import type { ServerActivities } from '../workflow/seams.ts';
import { asRecord } from './as-measured.ts';

/** Takes a server for studies. Implemented in `app`. */
export interface ServerHost {
  /** HOST:PORT. */
  readonly name: string;
  /**
   * Takes the server for a study. With null for `started`, continues with a server that was taken
   * earlier, and returns null if it was not. Errors: MODEL_LOCKED, SERVER_*, UNSUPPORTED for
   * another model than the study's.
   */
  hold(study: string, started: StudyStarted | null, emit: (event: TunerEvent) => void): Promise<HeldServer | null>;
  /**
   * Restores the server after a study that does not hold it now. Returns null if the study changed
   * nothing. Needs nothing that the study measures with. Errors: RESTORE_FAILED, SERVER_*,
   * MODEL_LOCKED.
   */
  putBack(study: string): Promise<ServerRestored | null>;
  /** Returns the studies that the server was taken for and not restored after. */
  unrestored(): Promise<readonly string[]>;
}

/** A server held for a study. */
export interface HeldServer {
  /** What it is measured on. */
  readonly machine: Machine;
  readonly runner: Pick<WorkRunner, 'run' | 'restore'>;
  close(): Promise<void>;
}

/** An activity's access to its surroundings. */
export interface ActivitySurroundings {
  readonly signal: AbortSignal;
  heartbeat(details: HeartbeatDetails): void;
}

/** The state of work under way, for observers. */
export interface HeartbeatDetails {
  readonly work?: string;
  readonly trial?: number;
  readonly event?: TunerEvent;
}

/** The interval of heartbeats in milliseconds. A worker that misses a few counts as gone. */
const HEARTBEAT_MS = 5_000;

/** Does the work of one server, one piece at a time. */
export class ServerWorker implements ServerActivities {
  readonly #host: ServerHost;
  readonly #surroundings: () => ActivitySurroundings;
  #held: { readonly study: string; readonly server: HeldServer } | null = null;
  #latest: HeartbeatDetails = {};
  #heartbeat: (details: HeartbeatDetails) => void = () => undefined;

  constructor(host: ServerHost, surroundings: () => ActivitySurroundings) {
    this.#host = host;
    this.#surroundings = surroundings;
  }

  hold: ServerActivities['hold'] = (study, started) =>
    this.#beating(async () => {
      const taken = await this.#take(study, asRecord(started) as StudyStarted);
      return taken && { machine: taken.machine };
    });

  work: ServerActivities['work'] = (study, work) =>
    this.#beating(async (signal) => {
      this.#tell({ work: work.id, trial: work.trial });
      const server = await this.#take(study, null);
      if (!server)
        throw new TrituneError(
          'SERVER_FAILED',
          `${this.#host.name} is not reserved for '${study}'`,
          'wait: the study reserves it again',
        );
      const outcome = await server.runner.run(work, signal).catch(async (error: unknown) => {
        if (!signal.aborted) await this.close().catch(() => undefined);
        throw error;
      });
      // Opens the server again before other work, which shows whether it and its senders are there.
      if (outcome.kind === 'lost') await this.close().catch(() => undefined);
      return outcome;
    });

  restore: ServerActivities['restore'] = (study) => this.#beating(() => this.restoreNow(study));

  /** Restores the server. Errors: RESTORE_FAILED, SERVER_*; a later attempt may succeed. */
  async restoreNow(study: string): Promise<ServerRestored> {
    const held = this.#held?.study === study ? this.#held.server : null;
    if (!held) return (await this.#host.putBack(study)) ?? untouched(this.#host.name);
    const restored = await held.runner.restore();
    if (restored.how === 'failed')
      throw new TrituneError('RESTORE_FAILED', restored.detail, 'wait for the next attempt, or run `tritune restore`');
    this.#held = null;
    await held.close();
    return restored;
  }

  /** Releases the server as it is. The next holder for the study continues from there. */
  async close(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    await held?.server.close();
  }

  get heldFor(): string | null {
    return this.#held?.study ?? null;
  }

  async #take(study: string, started: StudyStarted | null): Promise<HeldServer | null> {
    if (this.#held?.study === study) return this.#held.server;
    if (this.#held) throw taken(this.#host.name, this.#held.study);
    const server = await this.#host.hold(study, started, (event) => this.#tell({ ...this.#latest, event }));
    this.#held = server && { study, server };
    return server;
  }

  #tell(details: HeartbeatDetails): void {
    this.#latest = details;
    this.#heartbeat(details);
  }

  async #beating<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, heartbeat } = this.#surroundings();
    this.#latest = {};
    this.#heartbeat = heartbeat;
    const timer = setInterval(() => heartbeat(this.#latest), HEARTBEAT_MS);
    try {
      return await run(signal);
    } finally {
      clearInterval(timer);
      this.#heartbeat = () => undefined;
    }
  }
}

const untouched = (server: string): ServerRestored => ({
  server,
  how: 'nothing-changed',
  verified: true,
  detail: 'it was not changed',
});

const taken = (server: string, study: string): TrituneError =>
  new TrituneError('MODEL_LOCKED', `${server} is reserved for study '${study}'`, 'wait until that study ends');
