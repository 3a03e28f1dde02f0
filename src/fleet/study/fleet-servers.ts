import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { Machine } from '#profiler/machine.ts';
import type { StudyRecorder } from '#tuner/study-recorder.ts';

/** Why a server did not take the study. */
export interface ServerRefusal {
  readonly server: string;
  readonly reason: string;
  /** True if the server is not asked again. */
  readonly isFinal: boolean;
}

/** Records which servers take a study, and why others do not. */
export class FleetServers {
  readonly #recorder: StudyRecorder;
  /** Servers that cannot take trials of this study, and why. */
  readonly #unfit = new Map<string, string>();

  constructor(recorder: StudyRecorder) {
    this.#recorder = recorder;
  }

  /** Returns the servers that may take work. */
  fit(servers: readonly string[]): readonly string[] {
    return servers.filter((server) => !this.#unfit.has(server));
  }

  /**
   * Records idle servers that were not there before, and their machines. Errors: those of the
   * journal.
   */
  async join(idle: readonly string[], machines: Readonly<Record<string, Machine>>): Promise<void> {
    for (const server of idle) {
      const known = this.#known(server);
      if (known && known.left === null) continue;
      const machine = lookUp(machines, server);
      await this.#recorder.record({ type: 'server-joined', server, ...(machine && { machine }) });
    }
  }

  /** Records a server that took trials and takes no more for now. */
  async leave(server: string, reason: string): Promise<void> {
    if (this.#known(server)?.left === null) await this.#recorder.record({ type: 'server-left', server, reason });
  }

  /** Records a refusal once, however often it is reported. */
  async refuse({ server, reason, isFinal }: ServerRefusal): Promise<void> {
    if (isFinal) this.exclude(server, reason);
    if (this.#known(server)?.left !== reason) await this.#recorder.record({ type: 'server-left', server, reason });
  }

  /** Gives the server no more work of this study. */
  exclude(server: string, reason: string): void {
    this.#unfit.set(server, reason);
  }

  /**
   * `able`: the number of servers that may take work, now or later. Errors: SERVER_FAILED if none
   * is left.
   */
  check(able: number): void {
    if (able > 0 || this.#unfit.size === 0) return;
    const reasons = [...this.#unfit].map(([server, reason]) => `${server}: ${reason}`).join('; ');
    throw new TrituneError(
      'SERVER_FAILED',
      `no server can run this study: ${reasons}`,
      'check that all servers serve the same model, and read the log of their workers',
    );
  }

  #known(server: string) {
    return this.#recorder.state.servers.find(({ name }) => name === server);
  }
}
