import type { Assignment, ParameterValue } from '#space/types.ts';

/**
 * A server other than Triton whose settings a program can read and set. `settingsAdapter` makes an
 * adapter from it, with which tritune can tune it.
 */
export interface SettingsServer {
  /** Kind of the server, for journals and reports. */
  readonly name: string;
  readonly version?: string;
  /** HOST:PORT, for reports, and to prevent two studies on one server. */
  readonly url: string;
  /** The values of each setting that a study may try, in this order. */
  readonly settings: Readonly<Record<string, readonly ParameterValue[]>>;
  /** Returns all current settings by name. Rejects if the server does not answer. */
  read(signal: AbortSignal): Promise<Assignment>;
  /**
   * Sets all settings. Resolves when the server serves with them. If the server refuses them,
   * rejects with its message and keeps the previous settings.
   */
  apply(settings: Assignment, signal: AbortSignal): Promise<void>;
  /**
   * Sends one request and resolves at the end of its reply. Rejects if the request fails. Leave it
   * out where the study says what to send, such as by `--service-kind http`: the load generator's
   * threads then send to `url`.
   */
  send?(): Promise<void>;
  /** Returns why a combination must not be tried; null if it is legal. */
  refuse?(settings: Assignment): string | null;
  close?(): Promise<void>;
}
