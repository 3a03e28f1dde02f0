import type { Assignment, ParameterValue } from '../../space/types.ts';

/**
 * A server of another kind than Triton whose settings a program can read and set: all that tritune needs to tune it.
 * `settingsAdapter` makes an adapter of it.
 */
export interface SettingsServer {
  /** What kind of server it is; stands in journals and reports. */
  readonly name: string;
  readonly version?: string;
  /** HOST:PORT, for reports, and to keep two studies from one server. */
  readonly url: string;
  /** The values of each setting that a study may try, in the order in which they are tried. */
  readonly settings: Readonly<Record<string, readonly ParameterValue[]>>;
  /** Returns the settings that serve now, every one by its name. Rejects where nothing answers. */
  read(signal: AbortSignal): Promise<Assignment>;
  /**
   * Sets every setting. Resolves when the server serves with them. Rejects with the server's words where it does not
   * take them, and leaves what served before.
   */
  apply(settings: Assignment, signal: AbortSignal): Promise<void>;
  /** Sends one request, and resolves with its reply's end. Rejects where the request fails. */
  send(): Promise<void>;
  /** Why a combination is not to be tried; null where it is legal. */
  refuse?(settings: Assignment): string | null;
  close?(): Promise<void>;
}
