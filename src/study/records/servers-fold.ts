import type { OriginalMeasured, ServerJoined, ServerLeft, TrialStarted } from './records.ts';
import type { ServerOfStudy } from './state.ts';

/** Folds the records about the servers of a study that has several. */
export class ServersFold {
  readonly #servers = new Map<string, ServerOfStudy>();

  get list(): readonly ServerOfStudy[] {
    return [...this.#servers.values()];
  }

  join({ server, machine }: ServerJoined): void {
    this.#change(server, { left: null, ...(machine && { machine }) });
  }

  leave({ server, reason }: ServerLeft): void {
    this.#change(server, { left: reason });
  }

  start({ server }: TrialStarted): void {
    if (server !== undefined) this.#change(server, {});
  }

  finish({ server, role }: TrialStarted): void {
    if (server === undefined) return;
    if (role === 'baseline') this.#countOriginal(server);
    else this.#change(server, { trialsSinceOriginal: this.#of(server).trialsSinceOriginal + 1 });
  }

  measureOriginal({ server }: OriginalMeasured): void {
    this.#countOriginal(server);
  }

  #countOriginal(server: string): void {
    this.#change(server, { originals: this.#of(server).originals + 1, trialsSinceOriginal: 0 });
  }

  #change(name: string, change: Partial<ServerOfStudy>): void {
    this.#servers.set(name, { ...this.#of(name), ...change });
  }

  #of(name: string): ServerOfStudy {
    return this.#servers.get(name) ?? { name, left: null, originals: 0, trialsSinceOriginal: 0 };
  }
}
